import RepriseCore
import RepriseWire
import Synchronization

/// Sends what the app has published, and waits for the server's answer.
///
/// The journal hands over one message of a channel at a time, in the order recorded, each after the one before has ended
/// (the channel is the entry's lane): so a refusal, a wait or a lost connection cannot change the order. A message that was
/// not answered is sent again with the same id, and the server stores it once. ``OutboxMachine`` decides.
final class Outbox: Sendable {
    static let kind = OutboxMachine.kind

    private struct State {
        var machine: OutboxMachine
        var socket: (any Socket)?
        var waiters: [EntryID: CheckedContinuation<Void, Never>] = [:]
    }

    private let configuration: Channels.Configuration
    private let state: Mutex<State>

    init(configuration: Channels.Configuration) {
        self.configuration = configuration
        state = Mutex(State(machine: OutboxMachine(settings: configuration.outbox)))
    }

    // MARK: From the driver

    func connected(to socket: any Socket, serverTime: WallTime) {
        state.withLock { state in
            state.socket = socket
            state.machine.connected(serverTime: serverTime)
        }
    }

    func disconnected() {
        change { state in
            state.socket = nil
            return state.machine.disconnected()
        }
    }

    func published(_ published: ServerFrame.Published) {
        change { state in state.machine.published(published).map { [$0] } ?? [] }
    }

    func refused(_ refused: ServerFrame.Refused) {
        change { state in state.machine.refused(refused).map { [$0] } ?? [] }
    }

    /// Lets those go on whose message is answered.
    private func change(_ body: (inout State) -> [EntryID]) {
        let woken = state.withLock { state in
            body(&state).compactMap { state.waiters.removeValue(forKey: $0) }
        }
        for waiter in woken { waiter.resume() }
    }

    // MARK: From the journal

    /// Sends an entry; returns when the server has it.
    ///
    /// - Throws: ``RepriseCore/HandOverFailure`` or an error, by which the journal decides what becomes of it.
    func send(_ entry: Entry) async throws {
        let wall = configuration.timekeeper.wall()
        let (socket, frame) = try state.withLock { state in
            (state.socket, try state.machine.handedOver(entry, wall: wall))
        }
        do {
            try await socket?.send([frame])
        } catch {
            answer(entry.id, .disconnected)
        }
        await waitForAnswer(to: entry.id)
        let jitter = configuration.jitter()
        try state.withLock { state in try state.machine.ended(entry, jitter: jitter) }
    }

    private func answer(_ id: EntryID, _ answer: OutboxMachine.Answer) {
        change { state in state.machine.answered(id, answer) ? [id] : [] }
    }

    private func waitForAnswer(to id: EntryID) async {
        let alarm = Task { [configuration] in
            try await configuration.timekeeper.sleep(for: configuration.outbox.patience)
            self.answer(id, .timedOut)
        }
        defer { alarm.cancel() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isAnswered = state.withLock { state in
                    guard !state.machine.isAnswered(id) else { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isAnswered { continuation.resume() }
            }
        } onCancel: {
            self.answer(id, .disconnected)
        }
    }
}
