import GRDB
import Logging
import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// Sends the app's publications, and waits for the server's answers.
///
/// The journal dispatches many messages of a channel together, in the order recorded (the channel
/// is the entry's partition key), and each knows the previous one that has not ended. An unanswered
/// message is sent again with the same id, and the server stores it once. ``OutboxMachine``
/// decides.
final class OutboxDriver: Sendable {
    private struct State {
        var machine: OutboxMachine
        var frameSender: FrameSender?
        var delivery: [EntryID: EntryDelivery] = [:]
        /// Those that were sent while their channel was being made.
        var early: Set<EntryID> = []
    }

    /// How an entry ended.
    private struct Ending {
        let delivery: EntryDelivery
        let error: (any Error)?
        /// Nil: the server has not stored it.
        var seq: Int64?
        var alongside: (@Sendable (Database) throws -> Void)?
    }

    private let configuration: Channels.Configuration
    private let state: Mutex<State>
    private let awaited = Mutex<Set<ChannelName>>([])
    private let alarm: Alarm

    private let changeNotifier: ChannelChangeNotifier

    init(changeNotifier: ChannelChangeNotifier, configuration: Channels.Configuration) {
        self.changeNotifier = changeNotifier
        self.configuration = configuration
        alarm = Alarm(configuration.timekeeper)
        state = Mutex(State(machine: OutboxMachine(settings: configuration.outbox)))
    }

    // MARK: From the connection

    func connected(by frameSender: FrameSender, serverTime: WallTime) {
        state.withLock { state in
            state.frameSender = frameSender
            state.machine.connected(serverTime: serverTime)
        }
    }

    /// The gate `session` is closed first, so that requeued entries are not dispatched at once.
    func disconnected() {
        change { state in
            state.frameSender = nil
            return state.machine.disconnected()
        }
    }

    /// A subscribed channel will deliver its event.
    func published(_ published: ServerFrame.Published, isSubscribed: Bool) {
        change(isSubscribed: isSubscribed) { state in
            state.machine.published(published).map { [$0] } ?? []
        }
    }

    func refused(_ refused: ServerFrame.Refused) {
        change { state in state.machine.refused(refused).map { [$0] } ?? [] }
    }

    /// The channels that are being made: a refusal there is no last word.
    func awaits(_ channels: Set<ChannelName>) { awaited.withLock { $0 = channels } }

    /// Ends the answered entries.
    private func change(
        isSubscribed: Bool = false, _ body: (inout State) -> [EntryID]
    ) {
        let jitter = configuration.jitter
        let wall = configuration.timekeeper.wall()
        let endings = state.withLock { state in
            body(&state).compactMap { id -> Ending? in
                guard let delivery = state.delivery.removeValue(forKey: id) else { return nil }
                let wasEarly = state.early.remove(id) != nil
                let refusal = state.machine.refusal(of: id)
                do {
                    let seq = try state.machine.ended(delivery.entry, jitter: jitter())
                    return Ending(delivery: delivery, error: nil, seq: seq) {
                        [changeNotifier] db in
                        try OutboxRows.stored(
                            delivery.entry, seq: seq, isSubscribed: isSubscribed, db)
                        changeNotifier.notify(delivery.entry, after: db)
                    }
                } catch {
                    // Its refusal may be read after the channel was made.
                    if let refusal, refusal.code == .forbidden,
                        wasEarly || isAwaited(delivery.entry)
                    {
                        let wait = ConversationLimits.beingMade.delay(
                            failures: delivery.entry.attempt, jitter: jitter())
                        let failure = DispatchFailure.retry(
                            after: wait, "Its channel is being made.")
                        return Ending(delivery: delivery, error: failure)
                    }
                    return Ending(delivery: delivery, error: error) { [changeNotifier] db in
                        if let refusal {
                            try OutboxRows.refused(delivery.entry.id, refusal, at: wall, db)
                        }
                        changeNotifier.notify(delivery.entry, after: db)
                    }
                }
            }
        }
        for ending in endings {
            tell(ending)
            ending.delivery.end(ending.error, alongside: ending.alongside)
        }
    }

    private func tell(_ ending: Ending) {
        let entry = ending.delivery.entry
        if let seq = ending.seq {
            configuration.logger.tell(
                .debug, "The server has stored a message.",
                ["message": entry.id.text, "channel": entry.partitionKey, "seq": "\(seq)"])
        } else {
            configuration.logger.tell(
                .debug, "A message was not acknowledged.",
                [
                    "message": entry.id.text, "channel": entry.partitionKey,
                    "attempt": "\(entry.attempt)", "reason": ending.error.map { "\($0)" },
                ])
        }
    }

    private func isAwaited(_ entry: Entry) -> Bool {
        let awaited = awaited.withLock { $0 }
        guard !awaited.isEmpty, let channel = entry.partitionKey else { return false }
        return (try? ChannelName(channel)).map(awaited.contains) ?? false
    }

    // MARK: From the journal

    /// Sends entries in their order; must not wait.
    func dispatched(_ batch: [EntryDelivery]) {
        let wall = configuration.timekeeper.wall()
        let now = configuration.timekeeper.uptime()
        var frames: [[UInt8]] = []
        var failed: [Ending] = []
        let frameSender = state.withLock { state in
            for delivery in batch {
                do {
                    frames.append(
                        try state.machine.dispatched(delivery.entry, wall: wall, at: now))
                    state.delivery[delivery.entry.id] = delivery
                    if isAwaited(delivery.entry) { state.early.insert(delivery.entry.id) }
                } catch {
                    failed.append(Ending(delivery: delivery, error: error))
                }
            }
            arm(state)
            return state.frameSender
        }
        if configuration.logger.logLevel <= .debug { tell(batch, except: failed) }
        frameSender?.send(frames)
        for ending in failed {
            tell(ending)
            ending.delivery.end(ending.error) { [changeNotifier] db in
                changeNotifier.notify(ending.delivery.entry, after: db)
            }
        }
    }

    private func tell(_ batch: [EntryDelivery], except failed: [Ending]) {
        let held = Set(failed.map(\.delivery.entry.id))
        for delivery in batch where !held.contains(delivery.entry.id) {
            let entry = delivery.entry
            configuration.logger.tell(
                .debug, "A message is sent.",
                [
                    "message": entry.id.text, "channel": entry.partitionKey,
                    "attempt": "\(entry.attempt)",
                ])
        }
    }

    /// One alarm for all: the message sent first is overdue first.
    private func arm(_ state: State) {
        guard alarm.due == nil else { return }
        alarm.set(state.machine.due) { [weak self] in self?.timerFired() }
    }

    private func timerFired() {
        let now = configuration.timekeeper.uptime()
        change { state in
            alarm.cancel()
            let late = state.machine.timerFired(at: now)
            arm(state)
            return late
        }
    }
}

extension ChannelChangeNotifier {
    /// Lists read the journal again once this transaction is durable.
    fileprivate func notify(_ entry: Entry, after db: Database) {
        guard let channel = entry.partitionKey.flatMap({ try? ChannelName($0) }) else { return }
        db.afterNextTransaction { [self] _ in notify(channel) }
    }
}
