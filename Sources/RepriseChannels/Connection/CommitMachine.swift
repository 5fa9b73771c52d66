import RepriseCore
package import RepriseWire

/// Decides what is written when: one batch on its way to the disk, one behind it, and nothing more
/// is read then.
///
/// `idle ⇄ writing`; a failed commit leads to `pausing → reloading → idle`, because the disk is the
/// truth. An error that makes a retry useless is kept for good.
package struct CommitMachine: Sendable {
    private enum State {
        case idle
        /// A batch that touches these channels is being written; `revisions` become durable with
        /// it.
        case writing(channels: [ChannelName], revisions: [StagedBatch.Revision])
        /// A commit has failed; a timer is set.
        case pausing
        case reloading
    }

    /// A durable batch.
    package struct Written: Sendable {
        package let channels: [ChannelName]
        package let revisions: [StagedBatch.Revision]
        /// Whether commits before it have failed.
        package let hadFailed: Bool
    }

    private var state = State.idle
    /// The batch that waits for the one being written.
    private var behind: StagedBatch?
    /// Commits that failed in a row.
    private var failures = 0
    /// Memory may differ from the disk.
    package private(set) var isStale = false
    /// An error that makes a retry useless.
    package private(set) var fatal: (any Error)?

    package init() {}

    /// Whether another batch has a place: none while memory is stale, because the next dial's
    /// reload would meet its write.
    package var mayRead: Bool {
        switch state {
        case .idle, .writing: behind == nil && !isStale
        case .pausing, .reloading: false
        }
    }

    /// Whether nothing is on its way to the disk or back.
    package var isSettled: Bool {
        if case .idle = state { behind == nil } else { false }
    }

    package var isReloading: Bool {
        if case .reloading = state { true } else { false }
    }

    /// Whether nothing of this channel is being written.
    package func mayLoad(_ channel: ChannelName) -> Bool {
        guard case .writing(let channels, let revisions) = state else { return true }
        return !channels.contains(channel) && !revisions.contains { $0.channel == channel }
    }

    /// Begins anew, whatever made a retry useless before.
    package mutating func started() { fatal = nil }

    // MARK: Writing

    /// - Returns: the batch, if it is to be written now.
    package mutating func submit(_ batch: StagedBatch) -> StagedBatch? {
        guard !batch.isEmpty, fatal == nil else { return nil }
        guard case .idle = state else {
            behind = batch
            return nil
        }
        state = .writing(channels: batch.channels, revisions: batch.revisions)
        return batch
    }

    /// The channel is no longer wanted.
    ///
    /// Staged changes that wait for the disk have no position any more, and one refused segment
    /// fails the whole batch.
    package mutating func drop(_ channel: ChannelName) {
        behind?.remove(channel)
        if behind?.isEmpty == true { behind = nil }
    }

    package mutating func committed() -> Written {
        guard case .writing(let channels, let revisions) = state else {
            preconditionFailure("driver bug: committed in \(state)")
        }
        defer { (state, failures) = (.idle, 0) }
        return Written(channels: channels, revisions: revisions, hadFailed: failures > 0)
    }

    /// The batch that has waited.
    package mutating func next() -> StagedBatch? {
        defer { behind = nil }
        return behind
    }

    // MARK: Failures

    /// Nothing of the batch was written, or that is unknown.
    ///
    /// - Returns: how long to wait before ``paused()``; nil if that is useless.
    package mutating func commitFailed(_ error: any Error, jitter: Double) -> Duration? {
        guard case .writing = state else {
            preconditionFailure("driver bug: commitFailed in \(state)")
        }
        behind = nil
        isStale = true
        return failed(error, jitter: jitter)
    }

    package mutating func reloadFailed() { state = .idle }

    /// Something has failed; as ``commitFailed(_:jitter:)``.
    package mutating func failed(_ error: any Error, jitter: Double) -> Duration? {
        state = .idle
        failures += 1
        guard Self.isWorthWaiting(error) else {
            fatal = error
            return nil
        }
        return Self.pause.delay(failures: failures, jitter: jitter)
    }

    /// A timer is set for the next reload.
    package mutating func paused() { state = .pausing }

    package mutating func reloads() { state = .reloading }

    /// Memory is as the disk.
    package mutating func reloaded() { (state, isStale) = (.idle, false) }

    /// A pause is useless then: what is stale is read again with the next dial.
    package mutating func connectionEnded() {
        if case .pausing = state { state = .idle }
    }

    private static let pause = Backoff(base: .milliseconds(100), longest: .seconds(30))

    /// A journal that another process has taken over, or that was closed, accepts no more writes.
    private static func isWorthWaiting(_ error: any Error) -> Bool {
        guard let error = error as? RepriseError else { return true }
        switch error.code {
        case .ownershipLost, .closed, .corrupt: return false
        default: return true
        }
    }
}
