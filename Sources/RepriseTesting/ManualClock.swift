public import RepriseCore
import Synchronization

/// The device's clocks, which stand still until a test moves them.
///
/// ```swift
/// let clock = ManualClock()
/// configuration.clock = clock
/// clock.advance(by: .seconds(60))       // both clocks; wakes what is due
/// clock.setWall(milliseconds: 0)        // the calendar alone jumps; wakes nothing
/// ```
///
/// A device has two clocks: the calendar, which a person can set, and the uptime, which never
/// jumps. Waits and deadlines follow the uptime; times in messages and schedules the calendar. So
/// to let time pass use ``advance(by:)``, and the other functions only to try a wrong calendar.
///
/// A task that begins to wait after ``advance(by:)`` waits from there on. Where the code under test
/// may not wait yet, advance again: ``advance(by:within:until:)``.
public final class ManualClock: Sendable {
    private struct Sleeper {
        let id: Int
        let moment: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var wall: WallTime
        var uptime: Duration
        /// How far the calendar is set after its next reading.
        var jumpAfterLook: Duration?
        var boot = "boot-1"
        /// How often it was read or slept on: who does neither has nothing under way.
        var uses = 0
        var nextID = 0
        var sleepers: [Sleeper] = []
        /// Sleeps that were cancelled before they began.
        var cancelled: Set<Int> = []
    }

    private let state: Mutex<State>

    /// Makes clocks.
    ///
    /// - Parameters:
    ///   - milliseconds: the calendar, in milliseconds since 1970.
    ///   - uptime: how long the device has been running.
    public init(milliseconds: Int64 = 1_800_000_000_000, uptime: Duration = .seconds(1_000)) {
        state = Mutex(State(wall: WallTime(milliseconds: milliseconds), uptime: uptime))
    }

    /// Lets time pass, on both clocks; wakes sleepers that are due.
    ///
    /// - Parameter duration: how much.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.wall = state.wall.advanced(by: duration)
            state.uptime += duration
            let due = state.sleepers.filter { $0.moment <= state.uptime }
            state.sleepers.removeAll { $0.moment <= state.uptime }
            return due
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Lets time pass in steps until a condition holds.
    ///
    /// Each step waits until nobody has used this clock for about 10 ms, at most 200 ms: what the
    /// step before has woken gets that long before a deadline of its passes.
    ///
    /// - Parameters:
    ///   - step: how much passes at a time. A deadline that is shorter passes at once with what is
    ///     waited for.
    ///   - limit: for how long, by the system's clock, this tries at most.
    ///   - condition: what is waited for.
    /// - Throws: ``RepriseCore/RepriseError`` `.timedOut`; `CancellationError`; the condition's
    ///   errors.
    public func advance(
        by step: Duration, within limit: Duration = .seconds(20),
        until condition: () async throws -> Bool
    ) async throws {
        var (uses, looks, quiet) = (-1, 0, 0)
        try await waitUntil("the condition holds", within: limit) {
            if try await condition() { return true }
            let used = state.withLock { $0.uses }
            quiet = used == uses ? quiet + 1 : 0
            (uses, looks) = (used, looks + 1)
            guard quiet >= 5 || looks >= 100 else { return false }
            advance(by: step)
            (looks, quiet) = (0, 0)
            return try await condition()
        }
    }

    /// Sets the calendar alone, as a person or a wrong battery clock does.
    ///
    /// No time passes: waits go on, and what measures by uptime does not notice.
    ///
    /// - Parameter milliseconds: since 1970.
    public func setWall(milliseconds: Int64) {
        state.withLock { $0.wall = WallTime(milliseconds: milliseconds) }
    }

    /// Moves the calendar alone.
    ///
    /// - Parameter duration: how far; negative for back.
    public func jumpWall(by duration: Duration) {
        state.withLock { $0.wall = $0.wall.advanced(by: duration) }
    }

    /// Moves the calendar alone, just after its next reading.
    ///
    /// A result of that reading is stored by another calendar.
    ///
    /// - Parameter duration: how far; negative for back.
    public func jumpWallAfterLook(by duration: Duration) {
        state.withLock { $0.jumpAfterLook = duration }
    }

    /// Restarts the device: uptime begins again.
    ///
    /// Sleepers go on sleeping; a real process would be gone.
    public func restart() {
        state.withLock { state in
            state.boot += "+"
            state.uptime = .zero
        }
    }

    /// The calendar's time.
    public var now: WallTime { state.withLock { $0.wall } }

    /// The uptime that each sleeper waits for, earliest first.
    public var sleepers: [Duration] {
        state.withLock { $0.sleepers.map(\.moment).sorted() }
    }
}

extension ManualClock: Timekeeper {
    /// The calendar.
    public func wall() -> WallTime {
        state.withLock { state in
            state.uses += 1
            let seen = state.wall
            if let jump = state.jumpAfterLook {
                (state.wall, state.jumpAfterLook) = (seen.advanced(by: jump), nil)
            }
            return seen
        }
    }

    /// Time since the device started.
    public func uptime() -> Duration {
        state.withLock { state in
            state.uses += 1
            return state.uptime
        }
    }

    /// Changes with ``restart()``.
    public var boot: String { state.withLock { $0.boot } }

    /// Waits until ``advance(by:)`` has brought the uptime to `moment`.
    ///
    /// - Throws: `CancellationError`.
    public func sleep(until moment: Duration) async throws {
        let id = state.withLock { state in
            state.uses += 1
            state.nextID += 1
            return state.nextID
        }
        defer { state.withLock { _ = $0.cancelled.remove(id) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let disposition: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if moment <= state.uptime { return .success(()) }
                    state.sleepers.append(
                        Sleeper(id: id, moment: moment, continuation: continuation))
                    return nil
                }
                if let disposition { continuation.resume(with: disposition) }
            }
        } onCancel: {
            let sleeper: Sleeper? = state.withLock { state in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                    state.cancelled.insert(id)
                    return nil
                }
                return state.sleepers.remove(at: index)
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
