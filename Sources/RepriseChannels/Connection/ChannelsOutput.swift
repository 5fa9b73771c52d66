import RepriseWire

/// The actions of the current event, in order; and all timers, of which the driver knows the
/// soonest.
struct ChannelsOutput: Sendable {
    typealias Action = ChannelsMachine.Action

    enum Timer: Hashable, Comparable, Sendable {
        case sleep
        case token
        case connection
        case reload
        case channel(ChannelName)
    }

    private var actions: [Action] = []
    private var timers = Deadlines<Timer>()
    /// The moment of the driver's current wake-up.
    private var alarm: Duration?

    mutating func emit(_ action: Action) { actions.append(action) }

    mutating func take() -> [Action] {
        defer { actions = [] }
        return actions
    }

    // MARK: Timers

    mutating func schedule(_ timer: Timer, at moment: Duration) {
        timers.set(timer, at: moment)
        if let alarm, alarm <= moment { return }
        wake(at: moment)
    }

    mutating func cancel(_ timer: Timer) { timers.cancel(timer) }

    /// The timers of a connection end with it.
    mutating func connectionEnded() {
        timers.cancelAll { $0 == .sleep || $0 == .token }
        if alarm != timers.soonest { wake(at: timers.soonest) }
    }

    /// The driver has woken.
    ///
    /// - Returns: the due timers; ``rearm()`` follows when they are handled.
    mutating func woke(at now: Duration) -> [Timer] {
        alarm = nil
        return timers.take(at: now)
    }

    /// A new timer may be later than the one before it.
    mutating func rearm() {
        if let soonest = timers.soonest, soonest < alarm ?? soonest + .seconds(1) {
            wake(at: soonest)
        }
    }

    private mutating func wake(at moment: Duration?) {
        alarm = moment
        emit(.wake(at: moment))
    }
}
