import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseWire

/// Messages in flight: the machine, and who waits for each answer.
struct SimulatedOutboxDriver {
    typealias Waiter = (entry: Entry, done: SimulatedJournal.Completion)

    var machine: OutboxMachine
    let timeout: Duration
    var waiters: [EntryID: Waiter] = [:]
    /// The mutation `outboxNewID`: which message an invented id stands for.
    var invented: [EntryID: EntryID] = [:]

    init(settings: OutboxMachine.Settings) {
        machine = OutboxMachine(settings: settings)
        timeout = settings.timeout
    }
}
