import RepriseCore
import Synchronization

/// Observers of chains' progress.
final class ChainWatchers: Sendable {
    private let state = Mutex<[String: ValueStreams<ChainProgress>]>([:])

    /// - Returns: the changes of a chain.
    func watch(_ id: String) -> AsyncStream<ChainProgress> {
        state.withLock { state in
            let streams = state[id] ?? ValueStreams { [weak self] in self?.left(id) }
            state[id] = streams
            return streams.open()
        }
    }

    private func left(_ id: String) {
        state.withLock { if $0[id]?.isEmpty == true { $0[id] = nil } }
    }

    func announce(_ chain: LiveChain) {
        announce(chain.row.id, chain.progress)
    }

    func announce(_ id: String, _ progress: @autoclosure () -> ChainProgress) {
        guard let streams = state.withLock({ $0[id] }) else { return }
        streams.send(progress())
    }
}

extension LiveChain {
    fileprivate var progress: ChainProgress {
        ChainProgress(
            state: machine.state, done: machine.slots.count { $0.state == .succeeded },
            total: machine.slots.count)
    }
}
