import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// A folder for a play with processes of this same program; what was started in it ends with it.
struct DemoFolder: Sendable {
    let url: URL
    /// This program.
    let program: URL
    private let endings = Shared<[@Sendable () async -> Void]>([])

    /// Creates a folder, calls `body` with it, ends what was started in it, and removes it.
    ///
    /// - Throws: ``CommandFailure``; what `body` throws.
    static func with<T: Sendable>(_ body: (DemoFolder) async throws -> T) async throws -> T {
        let folder = DemoFolder(url: try make(), program: try LabProgram.lab.url())
        // When all processes are gone that write into it.
        defer { try? FileManager.default.removeItem(at: folder.url) }
        do {
            let result = try await body(folder)
            await folder.end()
            return result
        } catch {
            await folder.end()
            throw error
        }
    }

    /// A new folder with a short path, because there may be a socket in it.
    private static func make() throws -> URL {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "reprise-demo-\(EntryID.random().text.prefix(8))")
        do {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(
                .cannotCreate, "The folder \(url.path) cannot be created. Set TMPDIR to another.")
        }
        return url
    }

    /// Calls `ending` when the play is over, however it ends; the newest is called first.
    func atEnd(_ ending: @escaping @Sendable () async -> Void) {
        endings.update { $0.append(ending) }
    }

    /// In a task of its own: a cancelled one would wait for no process.
    private func end() async {
        await Task { for ending in endings.value.reversed() { await ending() } }.value
    }

    /// Starts a server; the options are those of `reprise serve`, beside port and data.
    func server(_ options: [String] = []) async throws -> DemoServer {
        let place = url.appendingPathComponent("server")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let server = DemoServer(in: place, options)
        atEnd { await server.end() }
        try await server.start()
        return server
    }

    /// Starts a phone in a folder of this name.
    func phone(_ name: String = "phone") async throws -> DemoPhone {
        let phone = try await Phone.start(
            in: url.appendingPathComponent(name), supervisor: .tool(program))
        atEnd { await phone.end() }
        return DemoPhone(phone: phone, program: program.path)
    }
}
