import RepriseCore
import Synchronization

/// Observers of chains: of one chain's progress, and of all chains' changes.
final class ChainWatchers: Sendable {
    private struct State {
        var ofOne: [String: ValueStreams<ChainProgress>] = [:]
        var ofAll: [Reader] = []
    }

    private struct Reader {
        weak var buffer: ChangeBuffer?
    }

    private let state = Mutex(State())
    private let notifications: ChainNotifications

    init(_ notifications: ChainNotifications) { self.notifications = notifications }

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

    func announce(
        _ id: String, _ definition: String, _ name: String?,
        _ progress: () -> ChainProgress
    ) {
        let (streams, readers) = state.withLock { ($0.ofOne[id], $0.ofAll.compactMap(\.buffer)) }
        let notifies = notifications.isOf(definition)
        guard streams != nil || !readers.isEmpty || notifies else { return }
        let progress = progress()
        streams?.send(progress)
        let change = ChainChange(
            id: ChainID(id), definition: definition, name: name, progress: progress)
        for reader in readers { reader.put(change) }
        if notifies { notifications.changed(change) }
    }
}

extension LiveChain {
    fileprivate var progress: ChainProgress {
        ChainProgress(
            state: machine.state, done: machine.slots.count { $0.state == .succeeded },
            total: machine.slots.count)
    }
}
