package import RepriseCore

/// A process that can be killed before any effect, frozen, and started again.
package final class SimulatedProcess {
    package enum State: Hashable { case running, suspended, dead }

    package let name: String
    package let clock: SimulatedClock
    @exclusivity(unchecked) package private(set) var state = State.dead
    /// Counts its lives; what belongs to an earlier one never happens.
    @exclusivity(unchecked) package private(set) var life = 0
    /// Since when it has run without a break; one that dies suspended has not run at all.
    package private(set) var awakeSince: Duration = .zero
    /// Its suspensions.
    private var breaks: [Range<Duration>] = []
    private var suspendedAt: Duration = .zero
    /// Builds the memory of a new life.
    package var started: () -> Void = {}
    /// The memory is gone; called at the kill.
    package var ended: () -> Void = {}
    /// It goes on after a suspension.
    package var resumed: () -> Void = {}

    private let simulation: Simulation
    private var postponed: [() -> Void] = []
    /// How many more effects it survives.
    @exclusivity(unchecked) private var effectsLeft: Int?
    private var kill: (() -> Void)?
    private var watchers: [() -> Void] = []

    /// `clock`: of the machine, where another process runs there already.
    package init(_ simulation: Simulation, name: String, clock: SimulatedClock? = nil) {
        self.simulation = simulation
        self.name = name
        self.clock = clock ?? SimulatedClock(simulation)
        simulation.whenEnded { [self] in
            (started, ended, resumed, kill) = ({}, {}, {}, nil)
            (watchers, postponed) = ([], [])
        }
    }

    package func start() {
        guard state == .dead else { return }
        life += 1
        state = .running
        awakeSince = simulation.now
        effectsLeft = nil
        simulation.trace(name, life == 1 ? "starts" : "starts again")
        started()
    }

    /// Ends it at once, without a word to anybody.
    package func kill(_ why: String = "is killed") {
        guard state != .dead else { return }
        simulation.trace(name, why)
        if state == .suspended { awakeSince = simulation.now }
        state = .dead
        postponed = []
        effectsLeft = nil
        kill = nil
        let watchers = watchers
        self.watchers = []
        ended()
        for watcher in watchers { watcher() }
    }

    /// Kills it before the effect after the next `effects` ones, wherever in its code that is.
    package func arm(after effects: Int, _ kill: @escaping () -> Void) {
        guard state != .dead, effectsLeft == nil else { return }
        effectsLeft = effects
        self.kill = kill
    }

    /// Asked before each effect that the outside could see.
    ///
    /// - Returns: false if the process has been killed right here: return, and do nothing more.
    package func survives(_ effect: @autoclosure () -> String = "") -> Bool {
        guard state != .dead else { return false }
        guard let left = effectsLeft else { return true }
        guard left > 0 else {
            effectsLeft = nil
            simulation.trace(name, "reaches its end before: \(effect())")
            let kill = kill
            self.kill = nil
            kill?()
            return state != .dead
        }
        effectsLeft = left - 1
        return true
    }

    /// For how long it was suspended since a moment.
    package func stoodStill(since moment: Duration) -> Duration {
        breaks.reduce(.zero) { $0 + max(.zero, $1.upperBound - max($1.lowerBound, moment)) }
    }

    package func suspend() {
        guard state == .running else { return }
        simulation.trace(name, "is suspended")
        state = .suspended
        suspendedAt = simulation.now
    }

    /// What was due meanwhile happens now, late and in order.
    package func resume() {
        guard state == .suspended else { return }
        simulation.trace(name, "is resumed")
        state = .running
        awakeSince = simulation.now
        breaks.append(suspendedAt..<simulation.now)
        let late = postponed
        postponed = []
        for work in late { simulation.after(.zero, on: self, work) }
        resumed()
    }

    func postpone(_ work: @escaping () -> Void) { postponed.append(work) }

    /// Calls `watcher` when this life ends.
    package func whenKilled(_ watcher: @escaping () -> Void) { watchers.append(watcher) }
}

/// The clocks of one machine: uptime never jumps, the calendar does.
///
/// `@unchecked Sendable`: the simulation has one thread.
package final class SimulatedClock: Timekeeper, @unchecked Sendable {
    /// What a calendar that is right says when most runs begin: 2026-11-21 00:00 UTC.
    package static let beginning = WallTime(milliseconds: 1_795_219_200_000)

    private let simulation: Simulation
    private let began: WallTime
    @exclusivity(unchecked) private var booted: Duration = .seconds(-1_000)
    private var boots = 1
    @exclusivity(unchecked) private var offset: Duration = .zero
    /// Seconds of error a second.
    @exclusivity(unchecked) private var drift = 0.0
    @exclusivity(unchecked) private var driftBegan: Duration = .zero

    /// `began`: what a calendar that is right says when the run begins.
    package init(_ simulation: Simulation, began: WallTime = SimulatedClock.beginning) {
        (self.simulation, self.began) = (simulation, began)
    }

    package func wall() -> WallTime { began.advanced(by: simulation.now + error) }

    /// What a calendar that is right says.
    package var truth: WallTime { began.advanced(by: simulation.now) }

    /// How far the calendar is from the truth.
    package var error: Duration {
        drift == 0 ? offset : offset + (simulation.now - driftBegan) * drift
    }

    package func uptime() -> Duration { simulation.now - booted }

    package private(set) var boot = "boot-1"

    package func sleep(until moment: Duration) async throws { throw CancellationError() }

    /// The machine restarts: uptime begins again.
    package func restart() {
        boots += 1
        boot = "boot-\(boots)"
        booted = simulation.now
    }

    package func jump(by duration: Duration) { offset += duration }

    package func drift(_ perSecond: Double) {
        offset += (simulation.now - driftBegan) * drift
        driftBegan = simulation.now
        drift = perSecond
    }

    /// The calendar is right again.
    package func heal() {
        offset = .zero
        drift = 0
    }
}
