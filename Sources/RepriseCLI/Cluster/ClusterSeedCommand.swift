import ArgumentParser
import Foundation
import Logging
import RepriseCommandLine
import RepriseCore
import RepriseServer
import RepriseWire

#if Cluster
    import RepriseCluster
#endif

/// `reprise cluster seed`: moves a single server's data into a new cluster.
struct ClusterSeedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seed",
        abstract: "Move a single server's data into a new cluster.",
        usage: """
            reprise cluster seed --data DIR --log URL [--cluster NAME]
                                 [--open | --dev] [--journal-bytes COUNT]
                                 [--log-user NAME --log-password-file FILE]
                                 [--log-token-file FILE | --log-nkey FILE |
                                  --log-creds FILE] [--log-ca FILE]
                                 [--log-cert FILE --log-cert-key FILE] [--json]
            """,
        discussion: """
            Stop the server first. Messages, ids, channels, members, positions, devices,
            mutes, forms and what waits to be pushed go into NATS, with the same epoch:
            devices go on where they were. The data folder keeps what it has, and needs
            twice its size of free space meanwhile; NATS needs its size on each node.

            Nothing is there for gateways before all of it is: if this is interrupted,
            run it again. It is refused where the cluster has a journal already. A
            server does not start on the data folder afterwards: the two would go apart.
            'reprise cluster export --move' is the way back.

            EXAMPLES
              reprise cluster seed --data ./data --log nats://n1:4222,n2,n3
              reprise serve --log nats://n1:4222,n2,n3 --data ./view --keys keys.json

            EXIT CODES
              0 moved, or was there; 65 DIR is no log, or is damaged; 69 NATS is not
              reached; 74 disk; 75 a server uses DIR; 76 NATS refuses; 78 there is a
              journal already. All: reprise --help
            """)

    @OptionGroup var place: ClusterPlaceOptions
    @Option(help: ArgumentHelp("The single server's data folder.", valueName: "dir"))
    var data: String
    @Flag(help: "The gateways will run without keys.") var open = false
    @Flag(help: "The gateways will run with --dev.") var dev = false
    @Option(
        help: ArgumentHelp(
            "The journal's most bytes on each server of NATS. (default: 8 GiB)",
            valueName: "count"))
    var journalBytes: Int?
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws {
        try place.requireLog()
        guard !open || !dev else { throw ValidationError("Give --open or --dev, not both.") }
    }

    func run() async throws {
        #if Cluster
            let (nats, cluster) = try ClusterSettings.place(place.flags, place.log ?? "")
            var settings = NatsJournal.Settings(open ? .open : dev ? .development : .keys)
            if let journalBytes {
                settings.maxBytes = try ClusterSettings.journalBytes(journalBytes)
            }
            let lines = ProgressLines()
            let moved = try await NatsJournal.seed(
                nats, cluster: cluster, settings, from: data, logger: .quiet
            ) { lines.tell($0.text) }
            if json {
                return try StandardOutput.write(
                    json: Answer(
                        stream: moved.stream, epoch: moved.epoch.text,
                        channels: moved.report.channels, messages: moved.report.messages,
                        wasThere: moved.wasThere))
            }
            guard !moved.wasThere else {
                return try StandardOutput.write(
                    "\(moved.stream) has \(moved.report.content) already")
            }
            try StandardOutput.write(
                "moved \(moved.report.content) into \(moved.stream), with their epoch")
            try StandardOutput.write("No server starts on \(data) any more.")
        #else
            throw ClusterToolCommand.isMissing
        #endif
    }

    private struct Answer: Encodable {
        let stream: String
        let epoch: String
        let channels: Int
        let messages: Int64
        let wasThere: Bool
    }
}

extension ClusterSeed.Progress {
    fileprivate var text: String {
        switch self {
        case .copying: "copying the data"
        case .uploading(let bytes, let total):
            "\(bytes.grouped) of \(total.grouped) bytes are in NATS"
        case .checking: "reading them back"
        }
    }
}
