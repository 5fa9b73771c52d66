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
        let reprise = try await Reprise.open(
            at: URL(filePath: "hello.journal", directoryHint: .isDirectory),
            server: ProcessInfo.processInfo.environment["REPRISE_SERVER"]
                ?? "http://127.0.0.1:8080",
            dialer: NIODialer())
        let general = try reprise.channel("general")

        try await general.read("printed") { message in
            let again = message.attempt > 1 ? " (was this printed? the process died)" : ""
            let what =
                switch message.change {
                case .edits(let seq): "(edits \(seq)) \(message.json)"
                case .deletes(let seq): "(deletes \(seq))"
                case nil: message.isDeleted ? "(deleted)" : message.json
                }
            print("\(message.seq) \(what)\(again)")
        }
        if CommandLine.arguments.count > 1 {
            let text = CommandLine.arguments.dropFirst().joined(separator: " ")
            try await general.publish(String(decoding: JSONEncoder().encode(text), as: UTF8.self))
        }
        try await reprise.run()
    }
}
