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
        if jumped(from: last, to: now) {
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

    private func jumped(from old: ClockSighting, to new: ClockSighting) -> Bool {
        guard old.boot == new.boot, new.uptime >= old.uptime else {
            return new.wall.advanced(by: Self.tolerance) < old.wall
        }
        return !Self.within(old.wall.advanced(by: new.uptime - old.uptime), new.wall)
    }

    private static func within(_ left: WallTime, _ right: WallTime) -> Bool {
        let apart = left.duration(to: right)
        return apart <= tolerance && apart >= .zero - tolerance
    }
}
