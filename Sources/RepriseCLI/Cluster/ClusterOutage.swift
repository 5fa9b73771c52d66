import RepriseCore

#if Cluster
    /// What is printed of a cluster whose journal cannot be read: what its servers say at their
    /// monitoring ports.
    struct ClusterOutage: Encodable, Sendable {
        struct Server: Encodable, Sendable {
            let monitor: String
            var answers = true
            var name: String?
            var natsVersion: String?
            var hasJetStream = false
            /// How many servers its cluster has; nil: it is in none.
            var clusterSize: Int?
            /// The server that leads its cluster.
            var clusterLeader: String?
            var hasStream = false
            /// The server that leads the journal's stream.
            var streamLeader: String?
        }

        let cluster: String
        let servers: String
        let stream: String
        private(set) var nodes: [Server] = []
        private(set) var problems: [ClusterReport.Problem] = []

        init(
            cluster: String, servers: String, stream: String, at ports: [MonitoringPort]
        ) async {
            self.cluster = cluster
            self.servers = servers
            self.stream = stream
            for port in ports {
                var server = Server(monitor: port.name)
                let found = await server.ask(port, stream)
                problems += found.map(ClusterReport.Problem.init)
                nodes.append(server)
            }
        }

        /// What is printed, in 80 columns.
        var lines: [String] {
            let parts: [(String, String)] =
                [
                    ("cluster", "\(cluster) at \(servers.replacing(",", with: ", "))"),
                    ("journal", "\(stream): not known"),
                ] + nodes.map { ("server", $0.text(stream)) }
            return ClusterReport.lines(parts, problems)
        }
    }

    extension ClusterOutage.Server {
        /// Fills in what it answers.
        ///
        /// - Returns: what an operator should look at.
        fileprivate mutating func ask(
            _ port: MonitoringPort, _ stream: String
        ) async -> [RepriseError] {
            let node: MonitoredNode
            switch await MonitoredNode.look(at: port) {
            case .success(let found): node = found
            case .failure(let error):
                answers = false
                return [error]
            }
            (name, natsVersion) = (node.name, node.version)
            hasJetStream = node.syncsAlways != nil
            (clusterSize, clusterLeader) = (node.group?.size, node.group?.leader)
            var problems = port.problems(of: node)
            switch await MonitoredStream.look(for: stream, of: node, at: port) {
            case .success(let copy): (hasStream, streamLeader) = (copy != nil, copy?.leader)
            case .failure(let error): problems.append(error)
            }
            return problems
        }

        /// Who leads the cluster and the stream, as it sees it.
        func text(_ stream: String) -> String {
            guard answers else { return "\(monitor) does not answer" }
            let name = "\(name ?? "") at \(monitor)"
            guard hasJetStream else { return "\(name): JetStream is off" }
            let cluster = clusterSize.map { "cluster of \($0), \(Self.text(clusterLeader)); " }
            let copy = hasStream ? "\(stream), \(Self.text(streamLeader))" : "no copy of \(stream)"
            return "\(name): \(cluster ?? "")\(copy)"
        }

        private static func text(_ leader: String?) -> String {
            leader.map { "leader \($0)" } ?? "no leader"
        }
    }
#endif
