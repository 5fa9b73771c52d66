import DequeModule
package import GRDB
package import RepriseCore
import Synchronization

/// Dispatched entries that no loop has taken, and the loops that wait for one.
///
/// ```swift
/// let queue = DeliveryQueue<DeepLink>(journal: journal, kind: FormsEvent.link) { delivery in
///     DeepLink(delivery.entry)
/// }
/// let lease = DeliveryQueue<DeepLink>.Lease(queue)
/// while let (delivery, link) = await lease.next() { … delivery.end() … }
/// ```
///
/// An entry becomes an item only when a loop waits for it, so that the item is current at that
/// moment; the item of a loop that has ended meanwhile is dropped and made again. Loops get the
/// entries in the order dispatched, except that a slow item does not hold up those behind it.
package final class DeliveryQueue<Item: Sendable>: Sendable {
    /// Makes the item of an entry; nil: it has ended the entry itself.
    package typealias Make = @Sendable (EntryDelivery) async -> Item?
    package typealias Taken = (delivery: EntryDelivery, item: Item)

    private struct State {
        var isOpen = false
        /// In the order dispatched.
        var deliveries: Deque<EntryDelivery> = []
        var waiting: [Int: CheckedContinuation<Taken?, Never>] = [:]
        var cancelled: Set<Int> = []
        /// Items that are being made and are not slow yet.
        var making: Set<Int> = []
        var nextID = 0

        mutating func id() -> Int {
            nextID += 1
            return nextID
        }
    }

    private let journal: Journal
    private let kind: String
    private let clock: any Timekeeper
    private let timeout: Duration?
    private let make: Make
    private let state = Mutex(State())

    /// - Parameters:
    ///   - journal: dispatches the entries.
    ///   - kind: the kind of the entries; its `parallel` is the bound of this queue.
    ///   - timekeeper: measures the timeout.
    ///   - timeout: how long making one item holds up the next; nil: until it is made.
    ///   - make: makes the item of an entry.
    package init(
        journal: Journal, kind: String, timekeeper: any Timekeeper = SystemTimekeeper(),
        timeout: Duration? = nil, make: @escaping Make
    ) {
        self.journal = journal
        self.kind = kind
        clock = timekeeper
        self.timeout = timeout
        self.make = make
    }

    /// The entries that one loop has in flight; requeued when the loop ends.
    package final class Lease: Sendable {
        private let queue: DeliveryQueue
        private let held = Mutex<[EntryDelivery]>([])

        package init(_ queue: DeliveryQueue) { self.queue = queue }

        deinit {
            for delivery in held.withLock({ $0 }) {
                delivery.end(as: .back(reason: "The loop ended."))
            }
        }

        /// - Returns: nil when the task is cancelled.
        package func next() async -> Taken? {
            guard let taken = await queue.take() else { return nil }
            held.withLock { $0.append(taken.delivery) }
            return taken
        }

        /// Removes an entry that must not be requeued: the caller ends it.
        package func release(_ id: EntryID) -> EntryDelivery? {
            held.withLock { held in
                held.firstIndex { $0.entry.id == id }.map { held.remove(at: $0) }
            }
        }

        /// Acknowledges an entry; a second call does nothing.
        ///
        /// What `record` writes is durable before the entry ends: a kill between the two must not
        /// show it again.
        ///
        /// - Throws: what the journal throws; then the entry stays in flight.
        package func end(
            _ id: EntryID, reason: String,
            record: @escaping @Sendable (Database, WallTime) throws -> Void
        ) async throws {
            let now = queue.clock.wall()
            try await queue.journal.write { db in try record(db, now) }
            release(id)?.end(as: .ended(.applied, reason: reason))
        }

        package func releaseAll() -> [EntryDelivery] {
            held.withLock { held in
                defer { held = [] }
                return held
            }
        }
    }

    /// Whether a loop waits.
    package var hasTakers: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// The journal dispatches from the first loop on: without one the entries would only be in
    /// flight.
    private func begin() {
        let isFirst = state.withLock { state in
            defer { state.isOpen = true }
            return !state.isOpen
        }
        guard isFirst else { return }
        journal.handleBatches(of: kind) { [weak self] batch in
            guard let self else { return }
            self.state.withLock { $0.deliveries += batch }
            self.makeMore()
        }
    }

    // MARK: Making

    /// Makes as many items as loops wait.
    private func makeMore() {
        while let (id, delivery) = next() {
            Task {
                let timeout = watch(id)
                let item = await make(delivery)
                timeout?.cancel()
                made(id, delivery, item)
            }
        }
    }

    private func next() -> (Int, EntryDelivery)? {
        state.withLock { state in
            guard !state.deliveries.isEmpty, state.making.count < state.waiting.count else {
                return nil
            }
            let id = state.id()
            state.making.insert(id)
            return (id, state.deliveries.removeFirst())
        }
    }

    /// At the timeout an item counts as slow, and the next begins.
    private func watch(_ id: Int) -> Task<Void, Never>? {
        timeout.map { timeout in
            Task { [weak self, clock] in
                do { try await clock.sleep(for: timeout) } catch { return }
                self?.state.withLock { _ = $0.making.remove(id) }
                self?.makeMore()
            }
        }
    }

    private func made(_ id: Int, _ delivery: EntryDelivery, _ item: Item?) {
        let taker = state.withLock { state -> CheckedContinuation<Taken?, Never>? in
            state.making.remove(id)
            guard item != nil else { return nil }
            guard let first = state.waiting.keys.min() else {
                state.deliveries.prepend(delivery)
                return nil
            }
            return state.waiting.removeValue(forKey: first)
        }
        if let item { taker?.resume(returning: (delivery, item)) }
        makeMore()
    }

    // MARK: Taking

    private func take() async -> Taken? {
        begin()
        let id = state.withLock { $0.id() }
        // A cancellation that arrived after the entry has left a mark.
        defer { state.withLock { _ = $0.cancelled.remove(id) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = state.withLock { state in
                    guard !state.cancelled.contains(id) else { return true }
                    state.waiting[id] = continuation
                    return false
                }
                if isCancelled { return continuation.resume(returning: nil) }
                makeMore()
            }
        } onCancel: {
            let waiting = state.withLock { state -> CheckedContinuation<Taken?, Never>? in
                if let waiting = state.waiting.removeValue(forKey: id) { return waiting }
                state.cancelled.insert(id)
                return nil
            }
            waiting?.resume(returning: nil)
        }
    }
}
