/// The reading of both clocks at one moment.
package struct ClockReading: Hashable, Sendable {
    package var wall: WallTime
    package var uptime: Duration
    package var boot: String

    package init(wall: WallTime, uptime: Duration, boot: String) {
        self.wall = wall
        self.uptime = uptime
        self.boot = boot
    }
}

/// Decides whether the calendar is trusted when an entry is to be expired or pruned.
///
/// `trusted → doubted` when the calendar jumps by more than a day against the uptime clock (or,
/// after a restart of the device, goes back by more than a day); `doubted → trusted` when the
/// server's time agrees or a day of uptime has passed since, across restarts of the process and of
/// the device. While it is doubted nothing is expired and nothing is pruned; deadlines wait.
///
/// A forward jump across a restart of the device looks like a device that was off for long: the
/// calendar is trusted, but nothing is forgotten because of the jump (``hiddenStep(to:)``).
package struct WallClockGuard: Sendable {
    /// The jump beyond which the calendar is doubted, and the uptime that restores it.
    package static let tolerance: Duration = .seconds(86_400)

    /// How much uptime has passed since doubt began; nil while the calendar is trusted.
    package private(set) var doubt: Duration?
    package private(set) var last: ClockReading

    /// - Parameters:
    ///   - stored: the last reading that an earlier process stored.
    ///   - doubt: its value then.
    ///   - now: the current reading.
    package init(stored: ClockReading?, doubt: Duration? = nil, now: ClockReading) {
        last = stored ?? now
        self.doubt = doubt
        observe(now)
    }

    /// Observes the clocks; call it before anything is expired or pruned.
    package mutating func observe(_ now: ClockReading) {
        defer { last = now }
        let step = correction(to: now)
        guard step <= Self.tolerance, step >= .zero - Self.tolerance else {
            doubt = .zero
            return
        }
        guard let seen = doubt, isSameBoot(as: now) else { return }
        let sum = seen + (now.uptime - last.uptime)
        doubt = sum >= Self.tolerance ? nil : sum
    }

    /// The server reported its time: agreement within a day ends doubt, disagreement begins it.
    package mutating func serverTimeReceived(_ server: WallTime, now: ClockReading) {
        observe(now)
        doubt = Self.within(server, now.wall) ? nil : doubt ?? .zero
    }

    package var mayExpire: Bool { doubt == nil }

    private func isSameBoot(as now: ClockReading) -> Bool {
        last.boot == now.boot && now.uptime >= last.uptime
    }

    /// How far the calendar went forward while the device was off, if by more than a day.
    ///
    /// Retention deadlines after an end move with it: those days may never have passed, and a
    /// deletion cannot be undone.
    package func hiddenStep(to now: ClockReading) -> Duration {
        let step = last.wall.duration(to: now.wall)
        return !isSameBoot(as: now) && step > Self.tolerance ? step : .zero
    }

    /// How far the calendar has moved beyond what the uptime clock explains.
    ///
    /// Calendar deadlines move with it.
    ///
    /// After a restart of the device only a step back of more than a day is detected.
    package func correction(to now: ClockReading) -> Duration {
        guard isSameBoot(as: now) else {
            let step = last.wall.duration(to: now.wall)
            return step < .zero - Self.tolerance ? step : .zero
        }
        return last.wall.advanced(by: now.uptime - last.uptime).duration(to: now.wall)
    }

    private static func within(_ left: WallTime, _ right: WallTime) -> Bool {
        let apart = left.duration(to: right)
        return apart <= tolerance && apart >= .zero - tolerance
    }
}
