import RepriseCore
import RepriseWire
import Synchronization

/// The driver's pending work, merged while it is busy: a channel that changes a thousand times is
/// handled once.
final class NoticeInbox: Sendable {
    struct Work: Sendable {
        /// Channels that have changed: at most as many as the journal has.
        var channels: Set<ChannelName> = []
        /// Channels that the app takes no part in any more.
        var left: Set<ChannelName> = []
        /// Read positions from pushes.
        var dismissed: [ChannelName: Int64] = [:]
        /// Compares everything with the system's list, and every channel with its row.
        var recovers = false
        var mergesSpool = false
        /// Nothing waits for the end of a catch-up, and the mirror is written at once.
        var isUrgent = false
        /// The person's settings or permission have changed.
        var isResetting = false
        var waiters: [Int] = []

        var isEmpty: Bool {
            channels.isEmpty && left.isEmpty && dismissed.isEmpty && !recovers && !mergesSpool
                && !isUrgent && !isResetting && waiters.isEmpty
        }

        mutating func add(_ other: Work) {
            channels.formUnion(other.channels)
            left.formUnion(other.left)
            dismissed.merge(other.dismissed) { max($0, $1) }
            recovers = recovers || other.recovers
            mergesSpool = mergesSpool || other.mergesSpool
            isUrgent = isUrgent || other.isUrgent
            isResetting = isResetting || other.isResetting
            waiters += other.waiters
        }
    }

    private struct State {
        var isOpen = false
        var isBusy = false
        var work = Work()
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var nextWaiter = 0
        var signal = Signal()
    }

    private let state = Mutex(State())

    func open() {
        state.withLock { state in
            let next = state.nextWaiter
            state = State(isOpen: true)
            state.nextWaiter = next
        }
    }

    /// Ends all waiting.
    func close() {
        let waiters = state.withLock { state in
            defer {
                state.isOpen = false
                state.isBusy = false
                (state.work, state.waiters) = (Work(), [:])
            }
            return state.waiters.values.map { $0 }
        }
        for waiter in waiters { waiter.resume(returning: false) }
    }

    var isIdle: Bool { state.withLock { !$0.isBusy && $0.work.isEmpty } }

    func put(_ change: (inout Work) -> Void) {
        let signal: Signal? = state.withLock { state in
            guard state.isOpen else { return nil }
            change(&state.work)
            return state.signal
        }
        signal?.raise()
    }

    /// Returns when all pending work is done.
    ///
    /// - Parameter limit: ends the wait; nil: no limit.
    /// - Returns: whether it was done.
    func settled(within limit: (@Sendable () async -> Void)? = nil) async -> Bool {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timer = limit.map { limit in
            Task {
                await limit()
                if !Task.isCancelled { self.finish([id], isDone: false) }
            }
        }
        defer { timer?.cancel() }
        return await withCheckedContinuation { continuation in
            let signal: Signal? = state.withLock { state in
                guard state.isOpen else { return nil }
                state.waiters[id] = continuation
                state.work.waiters.append(id)
                return state.signal
            }
            if let signal { signal.raise() } else { continuation.resume(returning: false) }
        }
    }

    func finish(_ ids: [Int], isDone: Bool) {
        let waiters = state.withLock { state in
            ids.compactMap { state.waiters.removeValue(forKey: $0) }
        }
        for waiter in waiters { waiter.resume(returning: isDone) }
    }

    /// - Returns: all that is to do; nil when the task is cancelled.
    func next() async -> Work? {
        while !Task.isCancelled {
            let (work, signal) = state.withLock { state in
                let work = state.work
                state.work = Work()
                state.isBusy = !work.isEmpty
                return (work, state.signal)
            }
            if !work.isEmpty { return work }
            await signal.wait()
        }
        return nil
    }
}
