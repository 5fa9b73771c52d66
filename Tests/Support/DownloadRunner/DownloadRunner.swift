import Foundation
import RepriseChains
import RepriseCore
import RepriseJournal
import RepriseNIO

/// A process to be killed: downloads a file with the worker of chains, and keeps its position in a
/// file as the engine keeps it in the journal.
///
///     DownloadRunner URL HOST:PORT FOLDER POSITION
///
/// Prints `at` with each position, and `done SHA256` at the end.
@main
enum DownloadRunner {
    static func main() async throws {
        let arguments = CommandLine.arguments
        // An app on a phone.
        if ProcessInfo.processInfo.environment["REPRISE_PHONE"] != nil {
            return try await PhoneDownload(
                url: arguments[1], host: arguments[2], sha256: arguments[3]
            ).run()
        }
        guard arguments.count == 5 else { exit(64) }
        let (folder, position) = (URL(fileURLWithPath: arguments[3]), arguments[4])
        let workers = StandardWorkers(
            sandbox: Sandbox(["home": folder]), transport: NIOTransport(),
            guard: AddressGuard(allowed: [arguments[2]]))
        let hooks = WorkContext.Hooks(
            checkpoint: { json in
                try DurableFile.write(json, to: position)
                say("at")
            })
        let work = WorkContext(
            key: "the one", saved: try DurableFile.read(position, limit: 65_536), hooks: hooks)
        guard let worker = workers.all.compactMap({ $0 as? DownloadWorker }).first else { exit(70) }
        do {
            let output = try await worker.run(
                .init(url: arguments[1], to: SandboxPath("home", "film"), timeout: 5), work)
            say("done \(output.sha256)")
        } catch {
            say("failed \(error)")
            exit(1)
        }
    }

    private static func say(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }
}
