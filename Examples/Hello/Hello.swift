import Foundation
import Reprise
import RepriseNIO

/// A device that prints what is said in a channel, and says what it is told on the command line.
@main
struct Hello {
    static func main() async {
        do {
            try await run()
        } catch {
            // What went wrong, and what to do about it.
            FileHandle.standardError.write(Data("hello: \(error)\n".utf8))
            exit(1)
        }
    }

    static func run() async throws {
        var configuration = RepriseConfiguration(
            server: ProcessInfo.processInfo.environment["REPRISE_SERVER"]
                ?? "http://127.0.0.1:8080")
        configuration.folder = URL(filePath: "hello.journal", directoryHint: .isDirectory)
        configuration.dialer = NIODialer()
        configuration.connectsAnonymously = true
        let client = RepriseClient(configuration)
        let general = client.channel("general", of: String.self)

        try await general.consume(as: "printed") { message in
            let again = message.attempt > 1 ? " (was this printed? the process died)" : ""
            let what =
                switch message.change {
                case .edits(let seq): "(edits \(seq)) \(message.rawJSON)"
                case .deletes(let seq): "(deletes \(seq))"
                case nil: message.content == .deleted ? "(deleted)" : message.rawJSON
                }
            // `print` would keep the line in memory where the output is a file.
            let line = "\(message.seq) \(what)\(again)\n"
            try FileHandle.standardOutput.write(contentsOf: Data(line.utf8))
        }
        if CommandLine.arguments.count > 1 {
            try await general.publish(CommandLine.arguments.dropFirst().joined(separator: " "))
        }
        try await client.run()
    }
}
