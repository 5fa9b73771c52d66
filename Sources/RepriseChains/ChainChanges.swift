import RepriseCore
import Synchronization

/// A change of a chain, among those of all chains.
public struct ChainChange: Hashable, Sendable {
    /// The chain.
    public var id: ChainID
    /// The name of its definition.
    public var definition: String
    /// The unique name that it was started under.
    public var name: String?
    /// Its state and progress.
    public var progress: ChainProgress
    /// How many chains left the buffer unread before this change, because the reader was slow: list
    /// the chains again if it is not 0.
    public var missed: Int

    /// Describes a change.
    ///
    /// - Parameters:
    ///   - id: the chain.
    ///   - definition: the name of its definition.
    ///   - name: the unique name that it was started under.
    ///   - progress: its state and progress.
    ///   - missed: how many chains left the buffer unread before this change.
    public init(
        id: ChainID, definition: String, name: String? = nil, progress: ChainProgress,
        missed: Int = 0
    ) {
        (self.id, self.definition, self.name) = (id, definition, name)
        (self.progress, self.missed) = (progress, missed)
    }
}

/// The changes of all chains, for one reader: ``Chains/changes()``.
///
/// ```swift
/// for await change in try await client.chains.changes() {
///     show(change.id, change.progress)
/// }
/// ```
///
/// Of each chain only the newest unread change is kept, in the place of the first; of more than
/// 1,024 chains the one that waits longest is dropped and counted.
public struct ChainChanges: AsyncSequence, Sendable {
    let buffer: ChangeBuffer

    /// Begins to read; several loops share the changes.
    public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

    /// Takes one change after the other.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let buffer: ChangeBuffer

        /// Waits for the next change.
        ///
        /// - Returns: nil when the task is cancelled.
        public mutating func next() async -> ChainChange? { await buffer.next() }
    }
}

/// The unread changes of one reader, of each chain the newest.
package final class ChangeBuffer: Sendable {
    private let state: Mutex<NewestChanges>
    private let signal = Signal()

    package init(limit: Int = ChainsLimits.unreadChanges) {
        state = Mutex(NewestChanges(limit: limit))
    }

    package func put(_ change: ChainChange) {
        state.withLock { $0.put(change) }
        signal.raise()
    }

    package func next() async -> ChainChange? {
        while !Task.isCancelled {
            let change = state.withLock { state in
                var change = state.take()
                change?.missed = state.missed
                if change != nil { state.missed = 0 }
                return change
            }
            if let change { return change }
            await signal.wait()
        }
        return nil
    }
}
