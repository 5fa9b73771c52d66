package import RepriseCore
import RepriseJournal

/// What becomes of a message that a reader could not handle: the journal's own rule for entries.
package struct Ending: Hashable, Sendable {
    package var state: ReaderStore.State
    package var due: WallTime
    package var reason: String
    /// Whether it counts towards the limit of attempts.
    package var isFailure: Bool

    /// What an error means for a message that had failed so many times before.
    package static func after(
        _ error: any Error, _ options: ReaderOptions, failures: Int, now: WallTime, jitter: Double
    ) -> Ending {
        let rules = EntryKind(
            "channels.reader", attemptLimit: options.attemptLimit, backoff: options.backoff)
        switch Settlement.Verdict.after(error, kind: rules, failures: failures, jitter: jitter) {
        case .retry(let wait, let countsAsFailure, let reason):
            return Ending(
                state: .waiting, due: now.advanced(by: wait), reason: reason,
                isFailure: countsAsFailure)
        case .backInLane(let wait, let reason):
            return Ending(
                state: .waiting, due: now.advanced(by: wait), reason: reason, isFailure: false)
        case .dead(let reason):
            return Ending(state: .dead, due: now, reason: reason, isFailure: true)
        case .applied, .appliedBefore, .notStarted, .ended, .back:
            return Ending(state: .waiting, due: now, reason: "\(error)", isFailure: false)
        }
    }
}
