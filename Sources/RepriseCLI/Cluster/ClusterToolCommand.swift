import ArgumentParser
import Foundation
import Logging
import RepriseCommandLine
import RepriseCore
import Synchronization

#if Cluster
    import RepriseCluster
#endif

/// `reprise cluster`: what an operator of many servers needs.
struct ClusterToolCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Look at a cluster of servers over NATS, and change it.",
        discussion: """
            docs/cluster.md says how to run one.

            EXAMPLES
              reprise cluster check --log nats://n1:4222,n2:4222,n3:4222
              reprise cluster seed --data ./data --log nats://n1:4222,n2,n3

            EXIT CODES
              0 done; 1 something is wrong, or --yes is missing; 65 invalid or damaged; 69
              NATS is not reached; 76 it refuses; 78 there is no such journal.
              All: reprise --help
            """,
        subcommands: [
            ClusterCheckCommand.self, ClusterSeedCommand.self, ClusterExportCommand.self,
            ClusterSkipCommand.self, ClusterRestoredCommand.self, ClusterUpgradeCommand.self,
        ])

    static let isMissing = RepriseError(
        .badConfiguration, "This reprise was built without NATS.",
        remedy: "Build it with `swift build --traits Cluster --product reprise`.")
}

#if Cluster
    extension ClusterPlaceOptions {
        /// Opens the journal for a tool, and closes it however `body` ends.
        func withJournal<Value>(
            _ body: (NatsJournal) async throws -> Value
        ) async throws -> Value {
            let (nats, cluster) = try ClusterSettings.place(flags, log ?? "")
            let journal = try await NatsJournal.find(nats, cluster: cluster, logger: .quiet)
            do {
                let value = try await body(journal)
                await journal.close()
                return value
            } catch {
                await journal.close()
                throw error
            }
        }
    }
#endif

/// Lines of progress on standard error: the first, and then one a second at most.
final class ProgressLines: Sendable {
    private let last = Mutex<Duration?>(nil)
    private let clock = SystemTimekeeper()

    func tell(_ text: String) {
        let now = clock.uptime()
        let isDue = last.withLock { last in
            if let last, now - last < .seconds(1) { return false }
            last = now
            return true
        }
        if isDue { FileHandle.standardError.write(Data((text + "\n").utf8)) }
    }
}

extension Logger {
    /// For tools, whose errors are told by their exit.
    static var quiet: Logger {
        var logger = Logger(label: "reprise")
        logger.logLevel = .error
        return logger
    }
}

extension StandardOutput {
    /// Prints one JSON object, with sorted keys.
    static func write(json value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try write(Array(try encoder.encode(value)) + [0x0a])
    }

    /// The same about a failure that is thrown next.
    static func explain(json value: some Encodable) throws {
        do { try write(json: value) } catch is BrokenPipe {}
    }
}
