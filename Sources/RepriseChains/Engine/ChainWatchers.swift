import RepriseCore
import Synchronization

/// Observers of a chain's progress: buffers the newest 64 changes for each.
final class ChainWatchers: Sendable {
    private struct State {
        var next = 0
        var continuations: [String: [Int: AsyncStream<ChainProgress>.Continuation]] = [:]
    }

    private let state = Mutex(State())

    func watch(_ id: String, first: ChainProgress?) -> AsyncStream<ChainProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChainProgress.self, bufferingPolicy: .bufferingNewest(64))
        let number = state.withLock { state in
            state.next += 1
            state.continuations[id, default: [:]][state.next] = continuation
            return state.next
        }
        if let first {
            continuation.yield(first)
            if first.state.isEnd { continuation.finish() }
        }
        continuation.onTermination = { [weak self] _ in self?.forget(id, number) }
        return stream
    }

    private func forget(_ id: String, _ number: Int) {
        state.withLock { state in
            state.continuations[id]?[number] = nil
            if state.continuations[id]?.isEmpty == true { state.continuations[id] = nil }
        }
    }

    private func continuations(_ id: String) -> [AsyncStream<ChainProgress>.Continuation] {
        state.withLock { state in state.continuations[id].map { Array($0.values) } ?? [] }
    }

    func announce(_ chain: LiveChain) {
        let watching = continuations(chain.row.id)
        guard !watching.isEmpty else { return }
        let slots = chain.machine.slots
        let progress = ChainProgress(
            state: chain.machine.state, done: slots.count { $0.state == .succeeded },
            total: slots.count)
        for continuation in watching {
            continuation.yield(progress)
            if progress.state.isEnd { continuation.finish() }
        }
    }

    func announce(_ id: String, _ progress: @autoclosure () -> ChainProgress) {
        let watching = continuations(id)
        guard !watching.isEmpty else { return }
        let progress = progress()
        for continuation in watching {
            continuation.yield(progress)
            if progress.state.isEnd { continuation.finish() }
        }
    }
}
