package import RepriseCore

/// Entries of the journal as values for the app's loops, each dispatched until it is acknowledged.
///
/// Each loop has entries in flight; those that it has not acknowledged when it ends are dispatched
/// again. Several loops share the entries.
public struct DeliveryStream<Element: Sendable>: AsyncSequence, Sendable {
    private let begin: @Sendable () -> Iterator

    /// - Parameters:
    ///   - queue: the dispatched entries.
    ///   - element: makes the value of an item, which its lease acknowledges.
    package init<Item>(
        _ queue: DeliveryQueue<Item>,
        element:
            @escaping @Sendable (
                Entry, Item, DeliveryQueue<Item>.Lease
            ) -> Element
    ) {
        begin = {
            let lease = DeliveryQueue<Item>.Lease(queue)
            return Iterator {
                await lease.next().map { element($0.delivery.entry, $0.item, lease) }
            }
        }
    }

    /// Each item is acknowledged when its loop asks for the next.
    package init(_ queue: DeliveryQueue<Element>) {
        begin = {
            let lease = DeliveryQueue<Element>.Lease(queue)
            return Iterator {
                for delivery in lease.releaseAll() { delivery.end() }
                return await lease.next()?.item
            }
        }
    }

    /// - Parameter begin: makes what takes one value after the other.
    package init(taking begin: @escaping @Sendable () -> @Sendable () async -> Element?) {
        self.begin = { Iterator(take: begin()) }
    }

    /// Begins to take values.
    public func makeAsyncIterator() -> Iterator { begin() }

    /// Takes one value after the other.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        fileprivate let take: @Sendable () async -> Element?

        /// Waits for the next.
        ///
        /// - Returns: nil when the task is cancelled.
        public mutating func next() async -> Element? { await take() }
    }
}
