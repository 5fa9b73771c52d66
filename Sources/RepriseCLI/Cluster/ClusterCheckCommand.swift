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
#if canImport(FoundationNetworking)
    import FoundationNetworking
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
            the journal's last 4,096 entries: how many entries they were behind, how far
            their clock is off, and what they do for all.

            Whether each server of NATS syncs each entry to its disk, and its version,
            is known to its monitoring port alone: give --monitor.

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
            let (nats, cluster) = try ClusterSettings.place(place.flags, place.log ?? "")
            var report = ClusterReport(
                try await ClusterInspection.look(
                    nats, cluster: cluster, logger: .quiet),
                cluster: cluster.text, servers: nats.description)
            for url in monitor?.split(separator: ",") ?? [] {
                report.add(try await MonitoredNode(at: String(url)))
            }
            if json {
                try StandardOutput.write(json: report)
            } else {
                for line in report.lines { try StandardOutput.write(line) }
            }
            if !report.problems.isEmpty { throw ExitCode(1) }
        #else
            throw ClusterToolCommand.isMissing
        #endif
    }
}

#if Cluster
    /// What a server of NATS says of itself at its monitoring port.
    struct MonitoredNode: Sendable {
        let server: String
        let version: String
        /// Nil: JetStream is off.
        let syncsAlways: Bool?
        /// The pause between two syncs otherwise.
        let seconds: Int

        init(at url: String) async throws {
            struct Answer: Decodable {
                struct JetStream: Decodable { var config: Config? }
                struct Config: Decodable {
                    var sync_always: Bool?
                    var sync_interval: Int64?
                }
                var version: String
                var jetstream: JetStream?
            }
            guard let address = URL(string: url + "/varz"), address.host != nil else {
                throw RepriseError(
                    .badConfiguration, "\(url) is no address of a monitoring port.",
                    remedy: "Write it as http://n1:8222.")
            }
            var request = URLRequest(url: address)
            request.timeoutInterval = 5
            guard let (data, _) = try? await URLSession.shared.data(for: request),
                let answer = try? JSONDecoder().decode(Answer.self, from: data)
            else {
                throw RepriseError(
                    .unreachable, "\(url) does not answer as the monitoring port of NATS.",
                    remedy: "Set `http: 127.0.0.1:8222` in nats.conf, and look from that machine.")
            }
            server = "\(address.host ?? url):\(address.port ?? 8_222)"
            version = answer.version.limited(to: 32)
            let config = answer.jetstream?.config
            syncsAlways = config.map { $0.sync_always ?? false }
            seconds = Int((config?.sync_interval ?? 0) / 1_000_000_000)
        }
    }

    /// What is printed.
    struct ClusterReport: Encodable, Sendable {
        struct Server: Encodable, Sendable {
            let name: String
            let isLeader: Bool
            let isCurrent: Bool
            let isOffline: Bool
            let lag: Int64
        }

        struct Gateway: Encodable, Sendable {
            let session: Int64
            let name: String?
            let entry: Int64
            let secondsAgo: Double
            let behind: Int64
            let clockSeconds: Double
            let roles: [String]
            let sqlite: String?
        }

        struct Base: Encodable, Sendable {
            let entry: Int64
            let bytes: Int64
        }

        struct Problem: Encodable, Sendable {
            let code: String
            let message: String
            let remedy: String?
        }

        let cluster: String
        let servers: String
        let stream: String
        let epoch: String
        let rules: Int64
        let natsVersion: String
        let copies: Int
        let first: Int64
        let last: Int64
        let bytes: Int64
        let maxBytes: Int64?
        let nodes: [Server]
        let base: Base?
        let gateways: [Gateway]
        let strangers: Int
        let skipped: [Int64]
        /// How many spans were compared by two gateways or more.
        let compared: Int
        private(set) var syncsAlways: [String: Bool] = [:]
        private(set) var problems: [Problem]

        init(_ found: ClusterInspection, cluster: String, servers: String) {
            self.cluster = cluster
            self.servers = servers
            stream = found.stream
            epoch = found.epoch.text
            rules = found.rules
            natsVersion = found.version
            copies = found.replicas
            first = found.status.first
            last = found.status.last
            bytes = found.status.bytes
            maxBytes = found.status.maxBytes
            nodes = found.status.servers.map {
                Server(
                    name: $0.name, isLeader: $0.isLeader, isCurrent: $0.isCurrent,
                    isOffline: $0.isOffline, lag: $0.lag)
            }
            base = found.base.map { Base(entry: $0.position.sequence, bytes: $0.bytes) }
            let now = SystemTimekeeper().wall()
            gateways = found.present.map { gateway in
                Gateway(
                    session: gateway.session, name: gateway.name, entry: gateway.entry,
                    secondsAgo: gateway.time.duration(to: now) / .seconds(1),
                    behind: gateway.behind, clockSeconds: gateway.clock / .seconds(1),
                    roles: gateway.roles.map { "\($0)" }, sqlite: gateway.sqlite)
            }
            strangers = found.strangers
            skipped = found.skipped
            compared = found.results.values.count { $0.count > 1 }
            problems = found.problems.map {
                Problem(code: "\($0.code)", message: $0.message, remedy: $0.remedy)
            }
        }

        mutating func add(_ node: MonitoredNode) {
            if ClusterInspection.isTooOld(node.version) {
                add(
                    .badConfiguration, "\(node.server) is nats-server \(node.version): too old.",
                    remedy: "Upgrade it: while it leads the journal, no gateway starts.")
            }
            guard let syncsAlways = node.syncsAlways else {
                return add(
                    .unavailable, "JetStream is off at \(node.server).",
                    remedy: "Its log says why: a full or failing disk switches it off. Mend that, "
                        + "and restart it.")
            }
            self.syncsAlways[node.server] = syncsAlways
            guard !syncsAlways else { return }
            add(
                .badConfiguration,
                "\(node.server) syncs every \(node.seconds) s: what is acknowledged may be lost "
                    + "with the power of a majority.",
                remedy: "Set `sync_interval: always` in its jetstream block.")
        }

        private mutating func add(
            _ code: RepriseError.Code, _ message: String, remedy: String
        ) {
            problems.append(Problem(code: "\(code)", message: message, remedy: remedy))
        }

        var lines: [String] {
            var lines = [
                "cluster   \(cluster) at \(servers), epoch \(epoch)",
                "journal   \(stream): entries \(first.grouped) to \(last.grouped), \(size)",
                "copies    \(copies), by nats-server \(natsVersion)",
                "rules     \(rules)"
                    + (rules < ClusterRules.newest
                        ? "; 'reprise cluster upgrade' raises them to \(ClusterRules.newest)" : ""),
            ]
            for node in nodes {
                let state =
                    node.isOffline
                    ? "is not there"
                    : node.isLeader
                        ? "leads" : node.isCurrent ? "has all" : "is \(node.lag.grouped) behind"
                lines.append("server    \(node.name) \(state)")
            }
            lines.append("synced    \(synced)")
            lines.append(
                "base      "
                    + (base.map { "at entry \($0.entry.grouped), \(megabytes($0.bytes))" }
                        ?? "none yet"))
            for gateway in gateways {
                let name = gateway.name ?? "session \(gateway.session)"
                var text = "gateway   \(name): entry \(gateway.entry.grouped), "
                text += "\(gateway.behind.grouped) behind, "
                text += String(format: "clock %+.1f s", gateway.clockSeconds)
                if let sqlite = gateway.sqlite { text += ", SQLite \(sqlite)" }
                if !gateway.roles.isEmpty {
                    text += "; " + gateway.roles.joined(separator: ", ")
                }
                lines.append(text)
            }
            if gateways.isEmpty { lines.append("gateway   none has written lately") }
            lines.append("results   compared in \(compared.grouped) spans of 10 s")
            if !skipped.isEmpty {
                lines.append(
                    "skipped   " + skipped.map { "entry \($0.grouped)" }.joined(separator: ", "))
            }
            if strangers > 0 { lines.append("strangers \(strangers) messages that are no entries") }
            for problem in problems {
                lines.append("PROBLEM   \(problem.message)")
                if let remedy = problem.remedy { lines.append("          \(remedy)") }
            }
            if problems.isEmpty { lines.append("Nothing is wrong.") }
            return lines
        }

        private var size: String {
            guard let maxBytes, maxBytes > 0 else { return "\(megabytes(bytes)), without a bound" }
            return "\(megabytes(bytes)) of \(megabytes(maxBytes)) (\(bytes * 100 / maxBytes) %)"
        }

        private var synced: String {
            guard !syncsAlways.isEmpty else { return "not known: give --monitor" }
            return syncsAlways.sorted { $0.key < $1.key }
                .map { "\($0.key) \($0.value ? "always" : "now and then")" }
                .joined(separator: ", ")
        }

        private func megabytes(_ bytes: Int64) -> String {
            String(format: "%.1f MB", Double(bytes) / 1_000_000)
        }
    }
#endif
