import ArgumentParser
import Foundation
import Logging
import RepriseCommandLine
import RepriseCore
import RepriseServer

#if Cluster
    import RepriseCluster
#endif

/// `reprise cluster check`: what can be seen of a cluster from outside.
struct ClusterCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Show a cluster's journal, its servers and its gateways, and what is wrong.",
        usage: """
            reprise cluster check --log URL [--cluster NAME] [--monitor URLS]
                                  [--log-user NAME --log-password-file FILE]
                                  [--log-token-file FILE | --log-nkey FILE |
                                   --log-creds FILE] [--log-ca FILE]
                                  [--log-cert FILE --log-cert-key FILE] [--json]
            """,
        discussion: """
            Reads and changes nothing. Of gateways it shows those that have written to
            the journal's last 4,096 entries: when the last one was stored, how many
            entries they were behind, how far their clock is off, and what they do for
            all. A server of NATS that lacks entries is looked at for up to 5 s: it is a
            problem if it gets none, or lacks more than 100.

            Whether each server of NATS syncs each entry to its disk, and its version,
            is known to its monitoring port alone: give --monitor. One that does not
            answer within 5 s is a problem, and all else is shown. Where the journal
            cannot be read, as without a majority of its servers, it shows what these
            ports say: which servers answer, and who leads; then the error.

            EXAMPLES
              reprise cluster check --log nats://n1:4222,n2:4222,n3:4222
              reprise cluster check --log nats://n1 --monitor http://n1:8222,http://n2:8222
              reprise cluster check --log nats://n1 --json | jq .problems

            EXIT CODES
              0 nothing is wrong; 1 something is; 69 NATS is not reached; 76 it refuses;
              78 there is no such journal, or it is none. All: reprise --help
            """)

    @OptionGroup var place: ClusterPlaceOptions
    @Option(
        help: ArgumentHelp(
            "The monitoring ports of NATS' servers, with commas between.", valueName: "urls"))
    var monitor: String?
    @Flag(help: "Print one JSON object.") var json = false

    func validate() throws { try place.requireLog() }

    func run() async throws {
        #if Cluster
            let ports = try (monitor?.split(separator: ",") ?? []).map {
                try MonitoringPort(String($0))
            }
            let (nats, cluster) = try ClusterSettings.place(place.flags, place.log ?? "")
            let found: ClusterInspection
            do {
                found = try await ClusterInspection.look(nats, cluster: cluster, logger: .quiet)
            } catch {
                if !ports.isEmpty {
                    let outage = await ClusterOutage(
                        cluster: cluster.text, servers: nats.description,
                        stream: ClusterInspection.stream(of: cluster), at: ports)
                    try explain(outage, outage.lines)
                }
                throw error
            }
            var report = ClusterReport(
                found, cluster: cluster.text, servers: nats.description)
            for port in ports { report.add(await MonitoredNode.look(at: port), at: port) }
            try explain(report, report.lines)
            if !report.problems.isEmpty { throw ExitCode(1) }
        #else
            throw ClusterToolCommand.isMissing
        #endif
    }

    /// Prints a report: as JSON, or these lines of it.
    private func explain(_ report: some Encodable, _ lines: [String]) throws {
        if json { return try StandardOutput.explain(json: report) }
        try StandardOutput.explain(lines.joined(separator: "\n"))
    }
}
