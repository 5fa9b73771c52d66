import RepriseCore
import RepriseServer
import RepriseWire
import Synchronization

/// Keeps what it is given, and says what it is told to.
final class RecordingProvider: PushProvider {
    private struct State {
        var pushes: [Push] = []
        var answer: @Sendable (Push, Int) -> PushOutcome
        var isHanging = false
        var isHolding = false
        var held: [AsyncStream<Void>.Continuation] = []
    }

    let service: PushService
    let concurrency: Int
    private let state: Mutex<State>

    init(
        _ service: PushService = .apns, concurrency: Int = 16,
        answer: @escaping @Sendable (Push, Int) -> PushOutcome = { _, _ in .accepted }
    ) {
        self.service = service
        self.concurrency = concurrency
        state = Mutex(State(answer: answer))
    }

    /// What it was given, in order.
    var pushes: [Push] { state.withLock { $0.pushes } }

    var ids: [String] { pushes.compactMap { $0.hint.id?.text } }

    /// What it says from now on; it gets the push and how many came before.
    func answer(_ answer: @escaping @Sendable (Push, Int) -> PushOutcome) {
        state.withLock { $0.answer = answer }
    }

    /// From now on it never answers.
    func hang() { state.withLock { $0.isHanging = true } }

    /// From now on it keeps what it is given, until ``release(_:)``.
    func holds() { state.withLock { $0.isHolding = true } }

    /// How many it keeps.
    var held: Int { state.withLock { $0.held.count } }

    /// Answers so many of those that it keeps.
    func release(_ count: Int) {
        let released = state.withLock { state in
            defer { state.held.removeFirst(min(count, state.held.count)) }
            return Array(state.held.prefix(count))
        }
        for one in released { one.finish() }
    }

    private func hold() -> AsyncStream<Void>? {
        state.withLock { state in
            guard state.isHolding else { return nil }
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
            state.held.append(continuation)
            return stream
        }
    }

    func send(_ push: Push) async -> PushOutcome {
        let (outcome, isHanging) = state.withLock { state in
            state.pushes.append(push)
            return (state.answer(push, state.pushes.count - 1), state.isHanging)
        }
        if let held = hold() { for await _ in held {} }
        if isHanging {
            try? await Task.sleep(for: .seconds(3_600))
            return .unavailable(nil, "It hung.")
        }
        return outcome
    }

    func close() async {}
}
