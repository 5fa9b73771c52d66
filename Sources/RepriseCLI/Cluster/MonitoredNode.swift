import Foundation
import RepriseCore
import RepriseServer

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

#if Cluster
    /// What a server of NATS says of itself at its monitoring port.
    struct MonitoredNode: Sendable {
        let version: String
        /// Nil: JetStream is off.
        let syncsAlways: Bool?
        /// The pause between two syncs otherwise.
        let seconds: Int

        /// Asks it; nil if it does not answer in time, or not as NATS does.
        init?(at port: MonitoringPort) async {
            struct Answer: Decodable {
                struct JetStream: Decodable { var config: Config? }
                struct Config: Decodable {
                    var sync_always: Bool?
                    var sync_interval: Int64?
                }
                var version: String
                var jetstream: JetStream?
            }
            var request = URLRequest(url: port.address)
            request.timeoutInterval = ClusterLimits.monitorWait / .seconds(1)
            guard let (data, _) = try? await URLSession.shared.data(for: request),
                let answer = try? JSONDecoder().decode(Answer.self, from: data)
            else { return nil }
            version = answer.version.limited(to: 32)
            let config = answer.jetstream?.config
            syncsAlways = config.map { $0.sync_always ?? false }
            seconds = Int((config?.sync_interval ?? 0) / 1_000_000_000)
        }
    }

    /// Where a server of NATS says how it is.
    struct MonitoringPort: Sendable {
        let address: URL
        let number: Int
        /// Host and port.
        let name: String

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if it is no URL with a host.
        init(_ url: String) throws {
            guard let address = URL(string: url + "/varz"), let host = address.host else {
                throw RepriseError(
                    .badConfiguration, "\(url) is no address of a monitoring port.",
                    remedy: "Write it as http://n1:8222.")
            }
            self.address = address
            number = address.port ?? 8_222
            name = "\(host):\(number)"
        }
    }
#endif
