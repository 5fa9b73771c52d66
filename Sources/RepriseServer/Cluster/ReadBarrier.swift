package import RepriseCore

/// Brings a gateway to at least the journal's end at the time of the call: what was acknowledged
/// anywhere before is then read here.
///
/// An empty command is written and applied. Who calls meanwhile shares the next one: so there are
/// never more than two for any number of callers.
package actor ReadBarrier {
    private let submit: CommandSubmission
    private let applied: StateBroadcaster<Int64>
    private var running: Task<Void, any Error>?
    private var next: Task<Void, any Error>?

    /// - Parameters:
    ///   - submit: see ``ClusterReplica/submit(_:)``.
    ///   - applied: the last entry that is applied here.
    package init(submit: @escaping CommandSubmission, applied: StateBroadcaster<Int64>) {
        (self.submit, self.applied) = (submit, applied)
    }

    /// The last entry that is applied here.
    package nonisolated var position: Int64 { applied.value }

    /// Returns when an entry is applied here: without one of its own, unless that takes longer than
    /// ``ClusterLimits/positionWait``.
    ///
    /// - Throws: as ``pass()``.
    package func pass(through sequence: Int64) async throws {
        guard applied.value < sequence else { return }
        let applied = applied
        let isThere = try? await withTimeout(ClusterLimits.positionWait, for: "An entry") {
            for await position in applied.watch() where position >= sequence { return true }
            return false
        }
        if isThere != true { try await pass() }
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if the journal cannot be written.
    package func pass() async throws {
        if let next { return try await next.value }
        let before = running
        let task = Task {
            // One that is under way may have been ordered before this call.
            _ = await before?.result
            began()
            do {
                _ = try await submit([.nop])
            } catch let error as RepriseError where error.code == .unavailable {
                throw RepriseError(
                    .unavailable,
                    "The cluster's journal is not there: what is stored now is unknown.",
                    remedy: "Try again.")
            }
        }
        if before == nil { running = task } else { next = task }
        try await task.value
    }

    /// The next is the one under way: who comes now needs another.
    private func began() {
        guard let next else { return }
        (running, self.next) = (next, nil)
    }
}
