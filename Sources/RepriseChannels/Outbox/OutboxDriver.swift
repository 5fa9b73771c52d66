import GRDB
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
        var uplink: Uplink?
        var lent: [EntryID: Lent] = [:]
        var alarm: (due: Duration, task: Task<Void, Never>)?
    }

    /// How an entry ended.
    private struct Ending {
        let lent: Lent
        let error: (any Error)?
        var alongside: (@Sendable (Database) throws -> Void)?
    }

    private let configuration: Channels.Configuration
    private let state: Mutex<State>

    private let bells: ChannelBells

    init(bells: ChannelBells, configuration: Channels.Configuration) {
        self.bells = bells
        self.configuration = configuration
        state = Mutex(State(machine: OutboxMachine(settings: configuration.outbox)))
    }

    // MARK: From the connection

    func connected(by uplink: Uplink, serverTime: WallTime) {
        state.withLock { state in
            state.uplink = uplink
            state.machine.connected(serverTime: serverTime)
        }
    }

    /// The gate `session` is closed first, so that requeued entries are not dispatched at once.
    func disconnected() {
        change { state in
            state.uplink = nil
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

    /// Ends the answered entries.
    private func change(
        isSubscribed: Bool = false, _ body: (inout State) -> [EntryID]
    ) {
        let jitter = configuration.jitter
        let wall = configuration.timekeeper.wall()
        let endings = state.withLock { state in
            body(&state).compactMap { id -> Ending? in
                guard let lent = state.lent.removeValue(forKey: id) else { return nil }
                let refusal = state.machine.refusal(of: id)
                do {
                    let seq = try state.machine.ended(lent.entry, jitter: jitter())
                    return Ending(lent: lent, error: nil) { [bells] db in
                        try OutboxRows.stored(
                            lent.entry, seq: seq, isSubscribed: isSubscribed, db)
                        bells.ring(lent.entry, after: db)
                    }
                } catch {
                    return Ending(lent: lent, error: error) { [bells] db in
                        if let refusal {
                            try OutboxRows.refused(lent.entry.id, refusal, at: wall, db)
                        }
                        bells.ring(lent.entry, after: db)
                    }
                }
            }
        }
        for ending in endings { ending.lent.end(ending.error, alongside: ending.alongside) }
    }

    // MARK: From the journal

    /// Sends entries in their order; must not wait.
    func handedOver(_ batch: [Lent]) {
        let wall = configuration.timekeeper.wall()
        let now = configuration.timekeeper.uptime()
        var frames: [[UInt8]] = []
        var failed: [Ending] = []
        let uplink = state.withLock { state in
            for lent in batch {
                do {
                    frames.append(
                        try state.machine.handedOver(lent.entry, wall: wall, at: now))
                    state.lent[lent.entry.id] = lent
                } catch {
                    failed.append(Ending(lent: lent, error: error))
                }
            }
            arm(&state)
            return state.uplink
        }
        uplink?.send(frames)
        for ending in failed {
            ending.lent.end(ending.error) { [bells] db in bells.ring(ending.lent.entry, after: db) }
        }
    }

    /// One alarm for all: the message sent first is overdue first.
    private func arm(_ state: inout State) {
        guard state.alarm == nil, let due = state.machine.due else { return }
        let task = Task { [weak self, timekeeper = configuration.timekeeper] in
            do { try await timekeeper.sleep(until: due) } catch { return }
            self?.ring()
        }
        state.alarm = (due, task)
    }

    private func ring() {
        let now = configuration.timekeeper.uptime()
        change { state in
            state.alarm = nil
            let late = state.machine.timerFired(at: now)
            arm(&state)
            return late
        }
    }
}

extension ChannelBells {
    /// Lists read the journal again once this transaction is durable.
    fileprivate func ring(_ entry: Entry, after db: Database) {
        guard let channel = entry.lane.flatMap({ try? ChannelName($0) }) else { return }
        db.afterNextTransaction { [self] _ in ring(channel) }
    }
}
