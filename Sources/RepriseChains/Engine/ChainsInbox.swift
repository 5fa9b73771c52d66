import RepriseCore
import RepriseJournal
import Synchronization

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
    case finished(TaskKey, Result<WorkDone, any Error>)
    /// A decision about this chain is durable.
    case written(Int64)
    case conditions(DeviceConditions)
    case news(JournalEvent)
    /// Its time is up.
    case late(TaskKey)
    /// It was cancelled and did not end.
    case abandoned(TaskKey)
    case stopAll
}

/// A worker's output.
struct WorkDone: Sendable {
    let bytes: [UInt8]
    let output: StoredOutput
}

/// The engine's queue: bounded by what is in flight, not by the backlog.
final class ChainsInbox: Sendable {
    private struct State {
        var events: [ChainsEvent] = []
        var isOpen = false
    }

    private let state = Mutex(State())
    private let signal = Signal()

    func open() { state.withLock { $0.isOpen = true } }

    /// - Returns: whether the inbox is open.
    @discardableResult
    func put(_ event: ChainsEvent) -> Bool {
        let isTaken = state.withLock { state in
            guard state.isOpen else { return false }
            state.events.append(event)
            return true
        }
        if isTaken { signal.raise() }
        return isTaken
    }

    /// All waiting events; waits for the first.
    ///
    /// - Returns: nothing if the task was cancelled.
    func next() async -> [ChainsEvent] {
        while true {
            let events = state.withLock { state in
                defer { state.events = [] }
                return state.events
            }
            if !events.isEmpty || Task.isCancelled { return events }
            await signal.wait()
        }
    }

    func close() -> [ChainsEvent] {
        state.withLock { state in
            defer { state = State() }
            return state.events
        }
    }
}
