import RepriseCommandLine
import RepriseCore
import RepriseNIO
import RepriseWire
import Synchronization

/// Publishes over several connections at full speed, and records the server's acknowledgements.
final class Traffic: Sendable {
    static let connections = 4

    private struct State {
        var acknowledged: [EntryID: Int64] = [:]
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        var number = 0
        var burst: (messages: Int, start: ContinuousClock.Instant) = (0, .now)
        var rates: [Int] = []
        var isOver = false
    }

    private let state = Mutex(State())
    private let text: DemoText
    private let partitionKeys:
        [(stream: AsyncStream<[UInt8]>, input: AsyncStream<[UInt8]>.Continuation)]

    init(text: DemoText) {
        self.text = text
        // Unbounded stream: it holds at most one burst, which the caller waits for.
        partitionKeys = (0..<Self.connections).map { _ in
            let (stream, input) = AsyncStream<[UInt8]>.makeStream()
            return (stream, input)
        }
    }

    /// How many the server has acknowledged.
    var count: Int { state.withLock { $0.acknowledged.count } }

    /// The ids that the server has acknowledged.
    var acknowledged: Set<EntryID> { state.withLock { Set($0.acknowledged.keys) } }

    /// How many messages a second were stored in a burst, by the median of the bursts.
    var medianRate: Int {
        state.withLock { state in
            let rates = state.rates.sorted()
            return rates.isEmpty ? 0 : rates[rates.count / 2]
        }
    }

    /// Distributes the next messages over the connections, in turn.
    func send(_ count: Int) {
        let first = state.withLock { state in
            defer { state.number += count }
            state.burst = (count, .now)
            return state.number + 1
        }
        for number in first..<(first + count) {
            partitionKeys[number % partitionKeys.count].input.yield(text.body(number))
        }
    }

    /// Ends the input.
    func end() { for partitionKey in partitionKeys { partitionKey.input.finish() } }

    /// Returns when everything that was given to the connections is acknowledged, or nothing more
    /// will be.
    func waitForAll() async { await wait(for: state.withLock { $0.number }) }

    /// Returns when so many are acknowledged, or nothing more will be, or the task is cancelled.
    func wait(for count: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.isOver || state.acknowledged.count >= count { return true }
                    state.waiters.append((count, continuation))
                    return false
                }
                if isThere { continuation.resume() }
            }
        } onCancel: {
            release(isOver: true)
        }
    }

    /// Publishes until ``end()`` was called and everything is acknowledged.
    func run(server: String, channel: ChannelName) async throws {
        defer { release(isOver: true) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for partitionKey in partitionKeys {
                let queue = PublishQueue(channel: channel) { id, seq in
                    self.acknowledged(id, seq)
                }
                let publisher = Publisher(server: server, dialer: NIODialer(), queue: queue)
                group.addTask { try await publisher.run(partitionKey.stream) }
            }
            try await group.waitForAll()
        }
    }

    private func acknowledged(_ id: EntryID, _ seq: Int64) {
        state.withLock { state in
            state.acknowledged[id] = seq
            guard state.acknowledged.count == state.number else { return }
            let seconds = (.now - state.burst.start).inSeconds
            state.rates.append(Int(Double(state.burst.messages) / max(seconds, 0.000_001)))
        }
        release(isOver: false)
    }

    private func release(isOver: Bool) {
        let ready = state.withLock { state in
            state.isOver = state.isOver || isOver
            let count = state.isOver ? Int.max : state.acknowledged.count
            let ready = state.waiters.filter { $0.count <= count }
            state.waiters.removeAll { $0.count <= count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }
}
