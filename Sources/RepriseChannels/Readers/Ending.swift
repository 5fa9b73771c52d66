package import RepriseCore
import RepriseJournal

/// The disposition of a message that a reader could not handle: the journal's own rule for entries.
package struct Ending: Hashable, Sendable {
    package var state: ReaderStore.State
    /// How long it waits, from the moment of the write on: the calendar may be set before.
    package var wait: Duration
    /// The end of the wait by the calendar when the handler ended: a guess, until its row is read.
    package var due: WallTime
    package var reason: String
    /// Whether it counts towards the limit of attempts.
    package var isFailure: Bool

    private init(
        _ state: ReaderStore.State, after wait: Duration, now: WallTime, _ reason: String,
        isFailure: Bool
    ) {
        self.state = state
        self.wait = wait
        due = now.advanced(by: wait)
        self.reason = reason
        self.isFailure = isFailure
    }

    /// The disposition after an error, of a message with so many earlier failures.
    package static func after(
        _ error: any Error, _ options: ReaderOptions, failures: Int, now: WallTime, jitter: Double
    ) -> Ending {
        let rules = EntryKind(
            "channels.reader", attemptLimit: options.attemptLimit, backoff: options.backoff)
        switch Acknowledgement.Disposition.after(
            error, kind: rules, failures: failures, jitter: jitter)
        {
        case .retry(let wait, let countsAsFailure, let reason):
            return Ending(.waiting, after: wait, now: now, reason, isFailure: countsAsFailure)
        case .requeueInOrder(let wait, let reason):
            return Ending(.waiting, after: wait, now: now, reason, isFailure: false)
        case .dead(let reason):
            return Ending(.dead, after: .zero, now: now, reason, isFailure: true)
        case .applied, .appliedBefore, .notStarted, .ended, .back:
            return Ending(.waiting, after: .zero, now: now, "\(error)", isFailure: false)
        }
    }
}
