/// What both clocks said at one moment.
package struct ClockSighting: Hashable, Sendable {
    package var wall: WallTime
    package var uptime: Duration
    package var boot: String

    package init(wall: WallTime, uptime: Duration, boot: String) {
        self.wall = wall
        self.uptime = uptime
        self.boot = boot
    }
}

/// Decides whether the calendar may be believed when something is to be expired or pruned.
///
/// `trusted → doubted` when the calendar jumps by more than a day against the clock that cannot jump (or, after a
/// restart of the device, goes back by more than a day); `doubted → trusted` when the server's time agrees or a day
/// of uptime has passed. While it is doubted nothing is expired and nothing is pruned; deadlines wait.
///
/// A forward jump across a restart of the device cannot be told from a device that lay in a drawer: it is believed.
package struct WallClockGuard: Sendable {
    package enum State: Hashable, Sendable {
        case trusted
        /// Since when, on the clock that cannot jump.
        case doubted(since: Duration)
    }

    /// The jump beyond which the calendar is doubted, and the uptime that restores it.
    package static let tolerance: Duration = .seconds(86_400)

    package private(set) var state: State
    package private(set) var last: ClockSighting

    /// - Parameters:
    ///   - stored: the last sighting that an earlier process wrote down.
    ///   - doubted: whether it doubted the calendar then.
    ///   - now: what the clocks say now.
    package init(stored: ClockSighting?, doubted: Bool = false, now: ClockSighting) {
        last = stored ?? now
        state = .trusted
        if doubted { state = .doubted(since: now.uptime) }
        observe(now)
    }

    /// Looks at the clocks; call it before anything is expired or pruned.
    package mutating func observe(_ now: ClockSighting) {
        defer { last = now }
        let step = correction(to: now)
        if step > Self.tolerance || step < .zero - Self.tolerance {
            state = .doubted(since: now.uptime)
            return
        }
        guard case .doubted(let since) = state else { return }
        if now.boot != last.boot {
            state = .doubted(since: now.uptime)  // the day of uptime starts again
        } else if now.uptime - since >= Self.tolerance {
            state = .trusted
        }
    }

    /// The server said what time it is: agreement within a day ends doubt, disagreement begins it.
    package mutating func serverTimeReceived(_ server: WallTime, now: ClockSighting) {
        observe(now)
        if Self.within(server, now.wall) {
            state = .trusted
        } else if state == .trusted {
            state = .doubted(since: now.uptime)
        }
    }

    package var mayExpire: Bool { state == .trusted }

    /// How far the calendar has moved beyond what the clock that cannot jump explains.
    ///
    /// What is due by the calendar has to move with it.
    ///
    /// After a restart of the device only a step back of more than a day is known to be one.
    package func correction(to now: ClockSighting) -> Duration {
        guard last.boot == now.boot, now.uptime >= last.uptime else {
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
