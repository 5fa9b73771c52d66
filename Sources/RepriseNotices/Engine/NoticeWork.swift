import RepriseCore
import RepriseWire

/// The driver's pending work, merged while it is busy: a channel that changes a thousand times is
/// handled once.
struct NoticeWork: Sendable {
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
    /// Those who wait for its end; they get whether it was done.
    var waiters: [Race<Bool>] = []

    mutating func add(_ other: NoticeWork) {
        channels.formUnion(other.channels)
        left.formUnion(other.left)
        dismissed.merge(other.dismissed) { max($0, $1) }
        recovers = recovers || other.recovers
        mergesSpool = mergesSpool || other.mergesSpool
        isUrgent = isUrgent || other.isUrgent
        isResetting = isResetting || other.isResetting
        waiters += other.waiters
    }

    func ended(isDone: Bool) {
        for waiter in waiters { waiter.end(.success(isDone)) }
    }
}

extension Mailbox<NoticeWork> {
    func put(_ change: (inout NoticeWork) -> Void) {
        var work = NoticeWork()
        change(&work)
        put(work)
    }

    /// Returns when all pending work is done.
    ///
    /// - Parameters:
    ///   - limit: ends the wait; nil: no limit.
    ///   - clock: measures the limit.
    /// - Returns: whether it was done.
    func settled(within limit: Duration? = nil, by clock: any Timekeeper) async -> Bool {
        let race = Race<Bool>()
        guard put(NoticeWork(waiters: [race])) else { return false }
        let timer = Alarm(clock)
        timer.set(limit.map { clock.uptime() + $0 }) { race.end(.success(false)) }
        defer { timer.cancel() }
        return (try? await race.value()) ?? false
    }
}
