import ArgumentParser
import Foundation
import Logging
import RepriseCommandLine
import RepriseCore
import RepriseServer

#if Cluster
    import RepriseCluster
#endif

/// `reprise cluster skip`: has an entry skipped that no gateway can apply.
struct ClusterSkipCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skip",
        abstract: "Have an entry of the journal skipped that no gateway can apply.",
        usage: """
            reprise cluster skip SEQ --log URL [--cluster NAME] [--yes]
                                 [--log-user NAME --log-password-file FILE]
                                 [--log-token-file FILE | --log-nkey FILE |
                                  --log-creds FILE] [--log-ca FILE]
                                 [--log-cert FILE --log-cert-key FILE] [--json]
            """,
        discussion: """
            An entry that fails at every gateway stops them all before it: their /readyz
            and 'reprise cluster check' name it. Skipped, it counts, and each change in
            it is refused; gateways go on within a second or two, and views that are
            made anew skip it too.

            First it looks whether a gateway has applied the entry, and applies the
            journal up to it itself, in a temporary folder. If the entry can be applied,
            it is refused. Without --yes nothing is changed. This needs the operator's
            credentials.

            EXAMPLES
              reprise cluster skip 4711 --log nats://n1:4222
              reprise cluster skip 4711 --log nats://n1:4222 --yes

            EXIT CODES
              0 it is skipped; 1 it can be, and --yes is missing; 65 no such entry;
              69 NATS is not reached, or this user may not; 76 it can be applied, or
              was; 78 there is no such journal. All: reprise --help
            """)

    @Argument(help: ArgumentHelp("The entry's number.", valueName: "seq")) var sequence: Int64
    @OptionGroup var change: ClusterChangeOptions
    @Option(help: .hidden) var trial: String?

    func validate() throws {
        guard sequence > 0 else { throw ValidationError("Entries are numbered from 1.") }
    }

    func run() async throws {
        #if Cluster
            try await change.place.withJournal { journal in
                if let trial {
                    try await apply(journal, in: trial)
                } else {
                    try await skip(journal)
                }
            }
        #else
            throw ClusterToolCommand.isMissing
        #endif
    }

    #if Cluster
        private func skip(_ journal: NatsJournal) async throws {
            let entry = try await journal.unapplied(sequence)
            guard let reason = try await reason() else {
                throw RepriseError(
                    .refused, "Entry \(sequence) can be applied.",
                    remedy: "Look at the gateways that say otherwise: their version, their disk. "
                        + "With their --data removed they try it again.")
            }
            // One that can do more may have begun meanwhile.
            _ = try await journal.unapplied(sequence)
            if change.yes { try await journal.skip(entry) }
            if change.json {
                try StandardOutput.explain(
                    json: Answer(
                        entry: sequence, bytes: entry.bytes.count, reason: reason,
                        isSkipped: change.yes))
            } else {
                try StandardOutput.explain(reason)
                try StandardOutput.explain(
                    change.yes
                        ? "Entry \(sequence) is skipped: what it asked for is refused."
                        : "Nothing is changed: with --yes entry \(sequence) is skipped, and what "
                            + "it asks for refused.")
            }
            if !change.yes { throw ExitCode(1) }
        }

        /// Why it cannot be applied; nil if it can.
        ///
        /// It is tried in a process of its own, which it may end.
        private func reason() async throws -> String? {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "reprise-skip-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let process = Process()
            process.executableURL = Bundle.main.executableURL
            process.arguments =
                Array(CommandLine.arguments.dropFirst()) + ["--trial", folder.path]
            // It ends with this process, whose end of the pipe is then closed.
            let (input, output, errors) = (Pipe(), Pipe(), Pipe())
            process.standardInput = input
            process.standardOutput = output
            process.standardError = errors
            try process.run()
            // Each is at most two lines.
            let said = output.fileHandleForReading.readDataToEndOfFile()
            let error = errors.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            try? input.fileHandleForWriting.close()
            let lines = String(decoding: said, as: UTF8.self).split(separator: "\n")
                .map(String.init)
            let status = process.terminationStatus
            guard lines.first == Self.reached else {
                let text = String(decoding: error, as: UTF8.self).limited(to: 500)
                throw RepriseError(
                    .unavailable, "The journal before entry \(sequence) was not applied: \(text)")
            }
            switch (process.terminationReason, status) {
            case (.exit, 0): return lines.count > 1 ? lines[1] : nil
            case (.uncaughtSignal, SIGKILL):
                throw RepriseError(.unavailable, "The trial was killed.", remedy: "Try again.")
            case (.uncaughtSignal, let signal):
                return "Entry \(sequence) ends the process that applies it, by signal \(signal)."
            case (_, let status):
                throw RepriseError(
                    .unavailable,
                    "The trial ended with \(status): "
                        + String(decoding: error, as: UTF8.self).limited(to: 500))
            }
        }

        private static let reached = "reached"

        private func apply(_ journal: NatsJournal, in folder: String) async throws {
            let orphaned = Thread {
                while let bytes = try? FileHandle.standardInput.read(upToCount: 1), !bytes.isEmpty {
                }
                // Another program ends all threads first: nothing is made while it is removed.
                var words: [UnsafeMutablePointer<CChar>?] = []
                for word in ["rm", "-rf", folder] { words.append(strdup(word)) }
                words.append(nil)
                execv("/bin/rm", words)
                Foundation.exit(EXIT_FAILURE)
            }
            orphaned.start()
            // Its end, too, may come before the thread has seen that of the command.
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let reason = try await journal.trial(of: sequence, in: folder) {
                try? StandardOutput.write(Self.reached)
            }
            if let reason { try StandardOutput.write(reason.message) }
        }
    #endif

    private struct Answer: Encodable {
        let entry: Int64
        let bytes: Int
        let reason: String
        let isSkipped: Bool
    }
}
