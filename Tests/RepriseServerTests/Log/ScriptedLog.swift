import RepriseCore
import RepriseServer
import RepriseWire
import Synchronization

/// A log whose commits a test holds back, lets through or fails.
final class ScriptedLog: MessageLog {
    private struct State {
        var batches: [[NewMessage]] = []
        var probes = 0
        var isHolding = false
        var held: [CheckedContinuation<Void, Never>] = []
        var failure: RepriseError?
        var heads: [ChannelName: Int64] = [:]
    }

    private let state = Mutex(State())
    private let epoch = Epoch.random()

    var batches: [[NewMessage]] { state.withLock { $0.batches } }
    var probeCount: Int { state.withLock { $0.probes } }
    var heldCount: Int { state.withLock { $0.held.count } }

    /// From now on commits wait for ``letThrough()``.
    func hold() { state.withLock { $0.isHolding = true } }

    /// Lets every commit that waits, and all later ones, go on.
    func letThrough() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isHolding = false
            return state.held
        }
        for waiter in held { waiter.resume() }
    }

    /// Fails every commit with this, until nil is given.
    func fail(with error: RepriseError?) { state.withLock { $0.failure = error } }

    func append(_ batch: [NewMessage]) async throws -> [AppendResult] {
        await withCheckedContinuation { waiter in
            let goesOn = state.withLock { state in
                state.batches.append(batch)
                if state.isHolding { state.held.append(waiter) }
                return !state.isHolding
            }
            if goesOn { waiter.resume() }
        }
        return try state.withLock { state in
            if let failure = state.failure { throw failure }
            return batch.map { Self.store($0, &state) }
        }
    }

    private static func store(_ message: NewMessage, _ state: inout State) -> AppendResult {
        let seq = state.heads[message.channel, default: 0] + 1
        state.heads[message.channel] = seq
        return .stored(
            ServerFrame.Event(
                channel: message.channel, seq: seq, prev: seq - 1, id: message.id,
                time: WallTime(milliseconds: 0), body: message.body))
    }

    func probe() async throws {
        let failure = state.withLock { state in
            state.probes += 1
            return state.failure
        }
        if let failure { throw failure }
    }

    func state(of channel: ChannelName) async throws -> LogChannelState {
        LogChannelState(
            epoch: epoch, head: state.withLock { $0.heads[channel] ?? 0 }, floor: 0)
    }

    func head(of channel: ChannelName) -> Int64 { state.withLock { $0.heads[channel] ?? 0 } }

    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) async throws -> LogPage {
        LogPage(events: [], gone: [], state: try await state(of: channel), through: 0)
    }

    func unread(
        of user: UserID, in channel: ChannelName, after: Int64
    ) async throws -> Unread {
        let page = try await history(of: channel, after: after, limit: .max)
        let unread = page.events.filter { $0.from != user && $0.change == nil && !$0.isDeleted }
        return Unread(count: Int64(unread.count), head: page.state.head)
    }

    func trim(_ channel: ChannelName, through: Int64) async throws -> LogChannelState {
        try await state(of: channel)
    }

    func trim(
        _ policy: RetentionPolicy, now: WallTime, overrides: RetentionOverrides?
    ) async throws {}
    func close() async { letThrough() }
}
