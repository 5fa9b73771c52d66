import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseServer
import RepriseWire

#if Cluster
    import RepriseCluster

    /// What is printed.
    struct ClusterReport: Encodable, Sendable {
        struct Server: Encodable, Sendable {
            let name: String
            let isLeader: Bool
            let isCurrent: Bool
            let isOffline: Bool
            let lag: Int64
            let secondsUnheard: Double
            /// Whether that is a problem.
            let isBehind: Bool
            let state: String
        }

        struct Lease: Encodable, Sendable {
            let role: String
            /// Since it was renewed.
            let secondsAgo: Double
            let isLapsed: Bool
        }

        struct Gateway: Encodable, Sendable {
            let session: Int64
            let name: String?
            let entry: Int64
            let secondsAgo: Double
            let behind: Int64
            let clockSeconds: Double
            /// Of leases that have not lapsed.
            let roles: [String]
            let leases: [Lease]
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

            init(_ error: RepriseError) {
                (code, message, remedy) = ("\(error.code)", error.message, error.remedy)
            }
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
        /// The monitoring ports without an answer that can be read.
        private(set) var silentMonitors: [String] = []
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
                    isOffline: $0.isOffline, lag: $0.lag,
                    secondsUnheard: $0.unheard / .seconds(1), isBehind: found.behind.contains($0),
                    state: $0.state)
            }
            base = found.base.map { Base(entry: $0.position.sequence, bytes: $0.bytes) }
            gateways = found.present.map { gateway in
                let leases = Self.leases(of: gateway.session, found)
                return Gateway(
                    session: gateway.session, name: gateway.name, entry: gateway.entry,
                    secondsAgo: Self.age(of: gateway.time, found),
                    behind: gateway.behind, clockSeconds: gateway.clock / .seconds(1),
                    roles: leases.filter { !$0.isLapsed }.map(\.role), leases: leases,
                    sqlite: gateway.sqlite)
            }
            strangers = found.strangers
            skipped = found.skipped
            compared = found.results.values.count { $0.count > 1 }
            problems = found.problems.map(Problem.init)
        }

        private static func age(of time: WallTime, _ found: ClusterInspection) -> Double {
            max(0, time.duration(to: found.now) / .seconds(1))
        }

        private static func leases(of session: Int64, _ found: ClusterInspection) -> [Lease] {
            LeaseRole.allCases.compactMap { role in
                guard let lease = found.leases[role], lease.session == session else { return nil }
                return Lease(
                    role: "\(role)", secondsAgo: age(of: lease.time, found),
                    isLapsed: lease.hasLapsed(at: found.now))
            }
        }

        /// What a node says at its monitoring port, or why that is not known.
        mutating func add(_ found: Result<MonitoredNode, RepriseError>, at port: MonitoringPort) {
            switch found {
            case .success(let node):
                problems += port.problems(of: node).map(Problem.init)
                if let syncsAlways = node.syncsAlways { self.syncsAlways[port.name] = syncsAlways }
            case .failure(let error):
                problems.append(Problem(error))
                silentMonitors.append(port.name)
            }
        }

        /// What is printed, in 80 columns.
        var lines: [String] {
            let lines = Self.lines(parts, problems)
            return problems.isEmpty ? lines + ["Nothing is wrong."] : lines
        }

        /// Labels, and what is behind them, in 80 columns; what is in backquotes stays on a line.
        static func lines(_ parts: [(String, String)], _ problems: [Problem]) -> [String] {
            let troubles = problems.flatMap { problem -> [(String, String)] in
                [("PROBLEM", problem.message)] + (problem.remedy.map { [("", $0)] } ?? [])
            }
            return (parts + troubles).flatMap { label, text -> [String] in
                let whole = text.replacing(/`[^`]+`/) { $0.output.replacing(" ", with: "\u{a0}") }
                return whole.wrapped(70).enumerated().map { index, line in
                    (index == 0 ? label : "").left(10) + line.replacing("\u{a0}", with: " ")
                }
            }
        }

        /// Labels, and what is behind them.
        private var parts: [(String, String)] {
            var parts: [(String, String)] = [
                ("cluster", "\(cluster) at \(servers.replacing(",", with: ", "))"),
                ("epoch", epoch),
                ("journal", "\(stream): entries \(first.grouped) to \(last.grouped)"),
                ("space", size),
                ("copies", "\(copies), by nats-server \(natsVersion)"),
                (
                    "rules",
                    "\(rules)"
                        + (rules < ClusterRules.newest
                            ? "; 'reprise cluster upgrade' raises them to \(ClusterRules.newest)"
                            : "")
                ),
            ]
            parts += nodes.map { ("server", "\($0.name) \($0.state)") }
            parts.append(("synced", synced))
            let base = base.map { "at entry \($0.entry.grouped), \(megabytes($0.bytes))" }
            parts.append(("base", base ?? "none yet"))
            parts += gateways.map { ("gateway", $0.text) }
            if gateways.isEmpty { parts.append(("gateway", "none has written lately")) }
            let spans = compared == 1 ? "1 span" : "\(compared.grouped) spans"
            parts.append(("results", "compared in \(spans) of 10 s"))
            if !skipped.isEmpty {
                let entries = skipped.map { "entry \($0.grouped)" }
                parts.append(("skipped", entries.joined(separator: ", ")))
            }
            if strangers > 0 {
                let messages =
                    strangers == 1
                    ? "1 message that is no entry"
                    : "\(strangers) messages that are no entries"
                parts.append(("strangers", messages))
            }
            return parts
        }

        private var size: String {
            guard let maxBytes, maxBytes > 0 else { return "\(megabytes(bytes)), without a bound" }
            return "\(megabytes(bytes)) of \(megabytes(maxBytes)) (\(bytes * 100 / maxBytes) %)"
        }

        private var synced: String {
            guard !syncsAlways.isEmpty || !silentMonitors.isEmpty else {
                return "not known: give --monitor"
            }
            var known = syncsAlways.mapValues { $0 ? "always" : "now and then" }
            for name in silentMonitors { known[name] = "not known" }
            return known.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
                .joined(separator: ", ")
        }

        private func megabytes(_ bytes: Int64) -> String {
            String(format: "%.1f MB", Double(bytes) / 1_000_000)
        }
    }

    extension ClusterReport.Gateway {
        fileprivate var text: String {
            var text = "\(name ?? "session \(session)"): heard \(Self.text(secondsAgo)) ago, "
            text +=
                behind == 0
                ? "has all" : "\(behind.grouped) \(behind == 1 ? "entry" : "entries") behind"
            text += ", clock " + Self.signed(clockSeconds) + ", entry \(entry.grouped)"
            if let sqlite { text += ", SQLite \(sqlite)" }
            let fresh = leases.filter { $0.secondsAgo < Self.lateAfter }
            if !fresh.isEmpty {
                text += "; holds " + fresh.map(\.role).joined(separator: ", ")
            }
            for lease in leases where lease.secondsAgo >= Self.lateAfter {
                text +=
                    lease.isLapsed
                    ? "; held \(lease.role): its lease has lapsed"
                    : "; holds \(lease.role), not renewed for \(Self.text(lease.secondsAgo))"
            }
            return text
        }

        /// So many seconds after a renewal, the next has not come.
        private static var lateAfter: Double { 2 * (ClusterLimits.leaseRenewal / .seconds(1)) }

        private static func text(_ seconds: Double) -> String {
            seconds < 9.95
                ? String(format: "%.1f s", seconds) : "\(Int64(seconds.rounded()).grouped) s"
        }

        /// Without a sign if it is none when rounded.
        private static func signed(_ seconds: Double) -> String {
            let tenths = (seconds * 10).rounded()
            return tenths == 0 ? "0.0 s" : String(format: "%+.1f s", tenths / 10)
        }
    }
#endif
