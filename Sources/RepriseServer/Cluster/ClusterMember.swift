package import Logging
package import RepriseCore

/// A server's part in a cluster: its view of the journal, and what keeps it up to date.
///
/// ```swift
/// let member = try await ClusterMember.join(journal, at: "/var/lib/reprise-view", true)
/// async let following: Void = member.replica.run { entry, _ in hub.committed(entry.events) }
/// try await member.catchUp(logger)
/// ```
package struct ClusterMember: Sendable {
    package let journal: any ClusterJournal
    package let view: ClusterView
    package let replica: ClusterReplica
    package let log: ClusterLog
    package let accounts: Accounts
    package let barrier: ReadBarrier

    /// Opens the view; closes the journal if it cannot.
    ///
    /// - Parameters:
    ///   - journal: the cluster's; closed by ``close()``.
    ///   - path: the view's folder.
    ///   - implicitChannels: see ``Accounts/open(at:implicitChannels:clock:heads:)``.
    ///   - clock: see ``ClusterReplica``.
    /// - Returns: the member; it follows nothing before ``replica`` runs.
    /// - Throws: as ``ClusterView/open(at:epoch:_:)``.
    package static func join(
        _ journal: any ClusterJournal, at path: String, implicitChannels: Bool,
        clock: any Timekeeper = SystemTimekeeper()
    ) async throws -> ClusterMember {
        do {
            var configuration = ClusterView.Configuration()
            configuration.implicitChannels = implicitChannels
            let view = try ClusterView.open(at: path, epoch: journal.epoch, configuration)
            return ClusterMember(journal, view, clock)
        } catch {
            await journal.close()
            throw error
        }
    }

    private init(_ journal: any ClusterJournal, _ view: ClusterView, _ clock: any Timekeeper) {
        let replica = ClusterReplica(view: view, journal: journal, clock: clock)
        let submit: CommandSubmission = { try await replica.submit($0) }
        self.journal = journal
        self.view = view
        self.replica = replica
        log = ClusterLog(view, submit: submit)
        accounts = Accounts(view, submit: submit)
        barrier = ReadBarrier(submit: submit)
    }

    /// Returns when all that the journal has by now is applied here.
    ///
    /// - Throws: what ends ``ClusterReplica/run(_:)``; `CancellationError`.
    package func catchUp(_ logger: Logger) async throws {
        while true {
            do {
                return try await barrier.pass()
            } catch let error as RepriseError where error.code == .unavailable {
                try Task.checkCancellation()
                logger.notice(
                    "not ready: the journal is not written, or much of it is not yet applied here",
                    metadata: ["applied": "\(view.position.sequence)"])
            }
        }
    }

    /// Closes the view and the journal; ``replica`` must have ended.
    package func close() async {
        await view.close()
        await journal.close()
    }
}
