import RepriseCore
import Synchronization

/// Observers of chains: of one chain's progress, and of all chains' changes.
final class ChainWatchers: Sendable {
    private let state = Mutex<[String: ValueStreams<ChainProgress>]>([:])

    /// - Returns: the changes of a chain.
    func watch(_ id: String) -> AsyncStream<ChainProgress> {
        state.withLock { state in
            let streams = state.ofOne[id] ?? ValueStreams { [weak self] in self?.left(id) }
            state.ofOne[id] = streams
            return streams.open()
        }
    }

    /// - Returns: the changes of all chains; they are kept as long as this is.
    func watchAll() -> ChainChanges {
        let buffer = ChangeBuffer()
        state.withLock { state in
            state.ofAll.removeAll { $0.buffer == nil }
            state.ofAll.append(Reader(buffer: buffer))
        }
        return ChainChanges(buffer: buffer)
    }

    private func left(_ id: String) {
        state.withLock { if $0.ofOne[id]?.isEmpty == true { $0.ofOne[id] = nil } }
    }

    func announce(_ chain: LiveChain) { announce(chain.row, chain.progress) }

    func announce(_ row: ChainRow, _ progress: @autoclosure () -> ChainProgress) {
        announce(row.id, row.definition, row.name, progress)
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
