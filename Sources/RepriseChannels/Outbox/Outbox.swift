import RepriseCore
import RepriseWire
import Synchronization

/// Sends what the app has published, and waits for the server's answer.
///
/// The journal hands over one message of a channel at a time, in the order recorded, each after the one before has ended
/// (the channel is the entry's lane): so a refusal, a wait or a lost connection cannot change the order. A message that was
/// not answered is sent again with the same id, and the server stores it once.
final class Outbox: Sendable {
    static let kind = EntryKind(
        "channels.outbox", requires: [.session], attemptLimit: 100, parallel: 64)

    enum Answer: Sendable {
        case published
        case refused(ServerFrame.Refused)
        case disconnected
        case timedOut
    }

    private enum Slot {
        case sent
        case awaited(CheckedContinuation<Answer, Never>)
        case answered(Answer)
    }

    private struct State {
        var socket: (any Socket)?
        /// What the server's clock said when it welcomed us.
        var serverTime: WallTime?
        var slots: [EntryID: Slot] = [:]
    }

    private let configuration: Channels.Configuration
    private let state = Mutex(State())

    init(configuration: Channels.Configuration) { self.configuration = configuration }

    // MARK: From the driver

    func connected(to socket: any Socket, serverTime: WallTime) {
        state.withLock { state in
            state.socket = socket
            state.serverTime = serverTime
        }
    }

    func disconnected() {
        let unanswered = state.withLock { state in
            state.socket = nil
            return Array(state.slots.keys)
        }
        for id in unanswered { answer(id, .disconnected) }
    }

    func published(_ published: ServerFrame.Published) { answer(published.id, .published) }

    func refused(_ refused: ServerFrame.Refused) {
        guard let id = refused.id.flatMap({ try? EntryID($0) }) else { return }
        answer(id, .refused(refused))
    }

    /// The first answer counts; one that nobody waits for is late or meant for an earlier connection.
    private func answer(_ id: EntryID, _ answer: Answer) {
        let waiter: CheckedContinuation<Answer, Never>? = state.withLock { state in
            switch state.slots[id] {
            case .sent: state.slots[id] = .answered(answer)
            case .awaited(let continuation):
                state.slots[id] = .answered(answer)
                return continuation
            case .answered, nil: break
            }
            return nil
        }
        waiter?.resume(returning: answer)
    }

    // MARK: From the journal

    /// Sends an entry; returns when the server has it.
    ///
    /// - Throws: ``RepriseCore/HandOverFailure`` or an error, by which the journal decides what becomes of it.
    func send(_ entry: Entry) async throws {
        let channel = try ChannelName(entry.lane ?? "")
        try checkAge(of: entry)
        let socket = state.withLock { state in
            guard let socket = state.socket else { return nil as (any Socket)? }
            state.slots[entry.id] = .sent
            return socket
        }
        guard let socket else { throw HandOverFailure.notReady("There is no connection.") }
        defer { state.withLock { state in _ = state.slots.removeValue(forKey: entry.id) } }
        let frame = ClientFrame.publish(.init(channel: channel, id: entry.id, body: entry.payload))
        do {
            try await socket.send([frame.encoded()])
        } catch {
            throw HandOverFailure.notReady("The connection ended.")
        }
        switch await answer(to: entry.id) {
        case .published: return
        case .refused(let refused): throw failure(refused, attempt: entry.attempt)
        case .disconnected: throw HandOverFailure.notReady("The connection ended.")
        case .timedOut: throw HandOverFailure.notReady("The server did not answer in time.")
        }
    }

    private func answer(to id: EntryID) async -> Answer {
        let alarm = Task { [configuration] in
            try await configuration.timekeeper.sleep(for: configuration.inactivity)
            self.answer(id, .timedOut)
        }
        defer { alarm.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Answer? = state.withLock { state in
                    if case .answered(let answer) = state.slots[id] { return answer }
                    state.slots[id] = .awaited(continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            self.answer(id, .disconnected)
        }
    }

    private func failure(_ refused: ServerFrame.Refused, attempt: Int) -> any Error {
        let reason = "\(refused.code): \(refused.message)"
        guard refused.code.isTemporary else { return HandOverFailure.permanent(reason) }
        // Spread out, so that all who were told the same do not come at once.
        let wait = Self.kind.backoff.delay(failures: attempt, jitter: configuration.jitter())
        return HandOverFailure.retry(after: (refused.retryAfter ?? .zero) + wait, reason)
    }

    /// The server remembers ids for so long; after that a second sending could be stored as a second message.
    ///
    /// Both clocks must say so: a calendar that is wrong must not end anything.
    private func checkAge(of entry: Entry) throws {
        guard entry.attempt > 1, let serverTime = state.withLock({ $0.serverTime }) else { return }
        let now = min(serverTime, configuration.timekeeper.wall())
        guard entry.recordedAt.duration(to: now) > configuration.outboxWindow else { return }
        throw HandOverFailure.permanent(
            "It was sent before and is older than the server's memory of ids: it may have been stored."
        )
    }
}
