import RepriseCore
import RepriseJournal

/// Which task runs.
struct TaskKey: Hashable, Sendable {
    let chain: Int64
    let place: Int
    let round: Int
    let isCompensation: Bool

    var payload: IntentPayload {
        IntentPayload(chain: chain, place: place, isCompensation: isCompensation, round: round)
    }
}

/// The engine's events.
enum ChainsEvent: Sendable {
    case tasks([EntryDelivery])
    case commands([EntryDelivery])
    /// The run of this number has ended.
    case finished(TaskKey, Int, Result<WorkDone, any Error>)
    /// A decision about this chain is durable.
    case written(Int64)
    /// It was removed before a decision about it was written.
    case left(Int64)
    case conditions(DeviceConditions)
    case news(JournalEvent)
    /// Its time is up.
    case late(TaskKey)
    /// It was cancelled and did not end.
    case abandoned(TaskKey)
    /// A correction of schedules could not be written.
    case review
    case stopAll
}

/// A worker's output.
struct WorkDone: Sendable {
    let bytes: [UInt8]
    let output: StoredOutput
}
