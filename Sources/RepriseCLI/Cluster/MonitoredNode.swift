import Foundation
import RepriseCore
import RepriseNIO
import RepriseServer

#if Cluster
    import RepriseCluster

    /// What a server of NATS says of itself at its monitoring port.
    struct MonitoredNode: Sendable {
        /// The servers of a cluster, which together decide about its streams.
        struct Group: Sendable {
            /// Nil: they have none.
            let leader: String?
            let size: Int
        }

        let name: String
        let version: String
        /// Nil: JetStream is off.
        let syncsAlways: Bool?
        /// The pause between two syncs otherwise.
        let seconds: Int
        /// Nil: JetStream is off, or not in a cluster.
        let group: Group?

        private struct Answer: Decodable {
            struct JetStream: Decodable {
                var config: Config?
                var meta: Meta?
            }
            struct Config: Decodable {
                var sync_always: Bool?
                var sync_interval: Int64?
            }
            struct Meta: Decodable {
                var leader: String?
                var cluster_size: Int?
            }
            var server_name: String?
            var version: String
            var jetstream: JetStream?
        }

        /// Asks it.
        static func look(at port: MonitoringPort) async -> Result<Self, RepriseError> {
            let answer: Result<Answer, RepriseError> = await port.ask("/varz")
            return answer.map { Self($0) }
        }

        private init(_ answer: Answer) {
            name = (answer.server_name ?? "").limited(to: 64)
            version = answer.version.limited(to: 32)
            let config = answer.jetstream?.config
            syncsAlways = config.map { $0.sync_always ?? false }
            seconds = Int((config?.sync_interval ?? 0) / 1_000_000_000)
            group = answer.jetstream?.meta.map {
                Group(leader: MonitoringPort.name($0.leader), size: $0.cluster_size ?? 0)
            }
        }
    }

    /// What a server of NATS says of its copy of a stream at its monitoring port.
    struct MonitoredStream: Sendable {
        /// The server that leads it; nil: none.
        let leader: String?

        private struct Answer: Decodable {
            struct Account: Decodable { var stream_detail: [Stream]? }
            struct Stream: Decodable {
                var name: String
                var cluster: Cluster?
            }
            struct Cluster: Decodable { var leader: String? }
            var account_details: [Account]?
        }

        /// Asks `node`; nil if it has no copy.
        static func look(
            for stream: String, of node: MonitoredNode, at port: MonitoringPort
        ) async -> Result<Self?, RepriseError> {
            let answer: Result<Answer, RepriseError> = await port.ask("/jsz?streams=1")
            return answer.map { Self(stream, of: node, $0) }
        }

        private init?(_ stream: String, of node: MonitoredNode, _ answer: Answer) {
            let copies = (answer.account_details ?? []).lazy.compactMap { account in
                account.stream_detail?.first { $0.name == stream }
            }
            guard let found = copies.first else { return nil }
            // A server without a cluster leads its streams.
            if let cluster = found.cluster {
                leader = MonitoringPort.name(cluster.leader)
            } else {
                leader = node.name
            }
        }
    }

    /// Where a server of NATS says how it is.
    struct MonitoringPort: Sendable {
        private let url: String
        let number: Int
        /// Host and port.
        let name: String

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if it is no URL with a host.
        init(_ url: String) throws {
            let scheme = url.prefix { $0 != ":" }.lowercased()
            guard ["http", "https"].contains(scheme), let endpoint = try? Endpoint(url) else {
                throw RepriseError(
                    .badConfiguration, "\(url) is no address of a monitoring port.",
                    remedy: "Write it as http://n1:8222.")
            }
            self.url = url
            number = endpoint.port
            name = "\(endpoint.host):\(number)"
        }

        /// The answer at a path; an error if none comes in time, another than NATS gives, or more
        /// than `ClusterLimits.monitorBytes`.
        func ask<Answer: Decodable>(_ path: String) async -> Result<Answer, RepriseError> {
            do {
                let answer = try await NIOTransport().fetch(
                    HTTPCall(url: url + path), limit: ClusterLimits.monitorBytes,
                    timeout: ClusterLimits.monitorWait)
                return .success(
                    try JSONDecoder().decode(Answer.self, from: Data(answer.body)))
            } catch let error as RepriseError where error.code == .tooLarge {
                return .failure(saysTooMuch(error))
            } catch {
                return .failure(doesNotAnswer)
            }
        }

        /// The name of a server in an answer; nil if that has none.
        static func name(_ name: String?) -> String? {
            guard let name, !name.isEmpty else { return nil }
            return name.limited(to: 64)
        }

        var doesNotAnswer: RepriseError {
            RepriseError(
                .unreachable, "\(name) does not answer as the monitoring port of NATS.",
                remedy: "If nats-server is down there, start it. If it runs, its port may "
                    + "be for its own machine alone: log in there, and run this check with "
                    + "--monitor http://127.0.0.1:\(number). If that fails too, set "
                    + "`http: 127.0.0.1:\(number)` in its nats.conf, and restart it.")
        }

        private func saysTooMuch(_ cause: RepriseError) -> RepriseError {
            RepriseError(
                .tooLarge, "\(name) answers with more than a monitoring port of NATS.",
                remedy: "Check host and port of --monitor.", cause: cause)
        }

        /// What an operator should look at, each with what to do.
        func problems(of node: MonitoredNode) -> [RepriseError] {
            var problems: [RepriseError] = []
            if ClusterInspection.isTooOld(node.version) {
                problems.append(
                    RepriseError(
                        .badConfiguration, "\(name) is nats-server \(node.version): too old.",
                        remedy: "Upgrade it: while it leads the journal, no gateway starts."))
            }
            if node.syncsAlways == nil {
                problems.append(
                    RepriseError(
                        .unavailable, "JetStream is off at \(name).",
                        remedy: "Its log says why: a full or failing disk switches it off. Mend "
                            + "that, and restart it."))
            } else if node.syncsAlways == false {
                problems.append(
                    RepriseError(
                        .badConfiguration,
                        "\(name) syncs every \(node.seconds) s: what is acknowledged may be lost "
                            + "with the power of a majority.",
                        remedy: "Set `sync_interval: always` in its jetstream block."))
            }
            return problems
        }
    }
#endif
