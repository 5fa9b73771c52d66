package import RepriseCore
package import RepriseServer

/// Decides which nodes of NATS do not follow the journal's leader.
///
/// Under load a node lacks what the leader has just stored: it follows if it lacks few entries and
/// is seen to get some.
package struct NodeProgress: Sendable {
    /// The newest answer.
    package private(set) var status: JournalStatus
    /// The names of those that had all, or got entries.
    private var following: Set<String> = []

    package init(_ status: JournalStatus) {
        self.status = status
        note(status, since: nil)
    }

    /// Asks, and again while a node that lacks entries may get them.
    ///
    /// - Throws: as ``RepriseServer/ClusterJournal/status()``, of the first answer.
    package static func look(
        _ journal: any ClusterJournal, clock: any Timekeeper = SystemTimekeeper()
    ) async throws -> NodeProgress {
        var nodes = NodeProgress(try await journal.status())
        let end = clock.uptime() + ClusterLimits.nodeWait
        while !nodes.behind.allSatisfy(\.isLost), clock.uptime() < end {
            try await clock.sleep(for: ClusterLimits.nodeLook)
            // The former answer tells more than none.
            guard let next = try? await journal.status() else { break }
            nodes.heard(next)
        }
        return nodes
    }

    package mutating func heard(_ next: JournalStatus) {
        note(next, since: status)
        status = next
    }

    /// The nodes that are away or do not follow; without a leader, what one lacks is not known.
    package var behind: [JournalStatus.Server] {
        status.servers.filter {
            status.isLed ? $0.isLost || !following.contains($0.name) : $0.isOffline
        }
    }

    private mutating func note(_ next: JournalStatus, since former: JournalStatus?) {
        guard next.isLed else { return }
        for server in next.servers {
            if server.isLeader || server.isCurrent || server.lag == 0 {
                following.insert(server.name)
            } else if let former, server.lag <= ClusterLimits.nodeLag,
                let before = former.servers.first(where: { $0.name == server.name }),
                server.lag < before.lag || (server.lag == before.lag && next.last > former.last)
            {
                following.insert(server.name)
            }
        }
    }
}
