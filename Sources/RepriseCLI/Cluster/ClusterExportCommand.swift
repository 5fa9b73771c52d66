import ArgumentParser
import Foundation
import Logging
import RepriseCommandLine
import RepriseCore
import RepriseServer

#if Cluster
    import RepriseCluster
#endif

/// `reprise cluster export`: makes a single server's data folder of a cluster's data.
struct ClusterExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Make a single server's data folder of a cluster's data.",
        usage: """
            reprise cluster export --log URL [--cluster NAME] --data DIR [--move]
                                   [--log-user NAME --log-password-file FILE]
                                   [--log-token-file FILE | --log-nkey FILE |
                                    --log-creds FILE] [--log-ca FILE]
                                   [--log-cert FILE --log-cert-key FILE] [--json]
            """,
        discussion: """
            Reads the newest base and the journal behind it, as a new gateway does.
            Gateways may run meanwhile: the copy has all that was stored when it began.
            Its log has a new epoch, as a restored backup's: devices catch up from the
            beginning and recognise what they have.

            With --move the journal is sealed first: it takes nothing more, for ever,
            and the copy has all of it, with its epoch. Devices go on at the single
            server where they were. Stop the gateways before. If it is interrupted, run
            it again. This needs the operator's credentials.

            Needs free space for the data twice, beside DIR and in it.

            EXAMPLES
              reprise cluster export --log nats://n1:4222 --data ./copy
              reprise cluster export --log nats://n1:4222 --data ./data --move
              reprise serve --data ./data

            EXIT CODES
              0 made and checked; 65 an entry or the base is damaged; 69 NATS is not
              reached, or this user may not; 74 disk; 76 NATS refuses; 78 there is no
              such journal, or DIR is not empty. All: reprise --help
            """)

    @OptionGroup var place: ClusterPlaceOptions
    @Option(
        help: ArgumentHelp(
            "Where the data goes: a folder that is empty or not there yet.", valueName: "dir"))
    var data: String
    @Flag(help: "End the cluster: seal its journal, and keep the epoch.") var move = false
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws { try place.requireLog() }

    func run() async throws {
        #if Cluster
            let report = try await place.withJournal { journal in
                func seal() async throws -> Int64 { try await journal.seal() }
                let lines = ProgressLines()
                return try await ClusterExport.run(
                    journal, to: data, implicitChannels: journal.implicitChannels,
                    seal: move ? seal : nil
                ) { lines.tell("\($0.applied.grouped) of \($0.last.grouped) entries are applied") }
            }
            if json {
                return try StandardOutput.write(
                    json: Answer(
                        channels: report.channels, messages: report.messages,
                        bytes: report.bytes, isMoved: move))
            }
            try StandardOutput.write(
                "\(move ? "moved" : "copied") \(report.content) to \(data), with "
                    + (move ? "their epoch" : "a new epoch"))
        #else
            throw ClusterToolCommand.isMissing
        #endif
    }

    private struct Answer: Encodable {
        let channels: Int
        let messages: Int64
        let bytes: Int64
        let isMoved: Bool
    }
}
