import RepriseCore

/// What an app in the workload of `case-reminder-routing` is: the original's own, or the control
/// beside it.
protocol ReminderTrialApp: AnyObject {
    func tapHappens(_ tap: Int)
    func slowNextLoad(by delay: Duration)
    func keepStoreBusy(for duration: Duration)
}

/// An app with `case-reminder-routing`'s router and a store of goals that takes its time, in
/// virtual time.
final class SleepingRouterApp: ReminderTrialApp {
    private let simulation: Simulation
    private let process: SimulatedProcess
    private let observer: BaselineObserver
    private let version: SleepingRouter.Version
    private let device: Int
    private var random: SeededRandom
    /// How much longer than usual the store takes at the next launch.
    private var extraLoading: Duration = .zero
    private var busyUntil: Duration = .zero

    // The memory of one life.
    private var machine: SleepingRouter
    private var isStoreLoaded = false

    init(
        _ simulation: Simulation, on process: SimulatedProcess, device: Int,
        version: SleepingRouter.Version, observer: BaselineObserver
    ) {
        self.simulation = simulation
        self.process = process
        self.device = device
        self.version = version
        self.observer = observer
        random = simulation.random("reminder app \(device)")
        machine = SleepingRouter(version)
        process.started = { [unowned self] in launch() }
    }

    /// "ModelContext hasn't fully loaded/synced goals yet" at the next launch.
    func slowNextLoad(by delay: Duration) { extraLoading = delay }

    /// "ModelContext hasn't synchronized yet", from now on for so long.
    func keepStoreBusy(for duration: Duration) { busyUntil = simulation.now + duration }

    /// A tap on a reminder: one for an app that is not running launches it.
    func tapHappens(_ tap: Int) {
        process.resume()
        let isCold = process.state == .dead
        if isCold { process.start() }
        simulation.after(isCold ? .milliseconds(20) : .zero, on: process) { [self] in
            simulation.trace(
                process.name, "tap \(tap) on the reminder of goal \(goal(of: tap)) comes")
            perform(machine.tapped(tap))
        }
    }

    private func launch() {
        machine = SleepingRouter(version)
        isStoreLoaded = false
        // The case study trusts in 100 ms: without a fault that is enough.
        var loading = random.duration(.milliseconds(10), .milliseconds(90))
        if extraLoading > .zero {
            simulation.met(.handlerLate)
            loading += extraLoading
            extraLoading = .zero
        }
        simulation.after(loading, on: process) { [self] in
            simulation.trace(process.name, "the store has loaded its goals")
            isStoreLoaded = true
        }
    }

    // MARK: Goals

    /// Each tap is for one of eight goals; they are what they are for the whole run, on disk.
    private func goal(of tap: Int) -> Int { tap % 8 }

    private func isPaused(_ goal: Int) -> Bool { goal == 6 }
    private func isDeleted(_ goal: Int) -> Bool { goal == 7 }

    /// `goal(for:)`: the context's array, then a fetch; neither knows more than the
    /// context has loaded.
    private func lookUp(_ goal: Int) -> SleepingRouter.Found {
        guard isStoreLoaded else { return .nothing }
        if simulation.now < busyUntil {
            simulation.met(.gateCloses)
            return .nothing
        }
        if isDeleted(goal) { return .nothing }
        return isPaused(goal) ? .paused : .active
    }

    /// What "Success Criteria" demand.
    private func expected(_ tap: Int) -> SleepingRouter.Screen {
        let goal = goal(of: tap)
        if isDeleted(goal) { return .missingGoal }
        // The first version has no screen for a paused goal: not a matter of time, so not
        // judged here.
        return isPaused(goal) && version == .repaired ? .inactiveGoal : .dataEntry
    }

    private func perform(_ actions: [SleepingRouter.Action]) {
        for action in actions {
            switch action {
            case .complete(let tap):
                guard process.survives("calls the completion handler of tap \(tap)") else { return }
                observer.accepted(tap, device: device)
            case .sleep(let tap, let duration):
                simulation.after(duration, on: process) { [self] in
                    perform(machine.sleepEnded(tap: tap))
                }
            case .lookUp(let tap):
                perform(machine.goalLookedUp(tap: tap, found: lookUp(goal(of: tap))))
            case .save: break  // saves what the app has changed: nothing; it loads nothing either
            case .present(let tap, let screen):
                guard process.survives("presents tap \(tap)") else { return }
                present(tap, screen)
            }
        }
    }

    private func present(_ tap: Int, _ screen: SleepingRouter.Screen) {
        guard screen == expected(tap) else {
            return observer.landedWhereNotReady(
                tap, device: device,
                "was shown \(screen.rawValue), but goal \(goal(of: tap)) exists: its store had not answered yet"
            )
        }
        simulation.trace(process.name, "tap \(tap) is shown \(screen.rawValue)")
        observer.tookEffect(tap, device: device)
    }
}

/// Taps on reminders for an app that is killed, frozen, and has a slow store.
package struct SleepingRouterWorkload: Workload {
    package let version: SleepingRouter.Version

    package var name: String { "seed-002-\(version == .first ? "first" : "repaired")" }
    package var summary: String { "taps on reminders whose goals are not loaded yet" }

    package func schedule(seed: UInt64) -> FaultSchedule {
        .draw(
            seed: seed,
            kinds: [(.killDevice, 4), (.suspend, 1), (.handlerLate, 2), (.gateCloses, 1)])
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        Self.play(simulation) { fixture, observer, device in
            SleepingRouterApp(
                simulation, on: fixture.processes[device], device: device, version: version,
                observer: observer)
        }
    }

    static func play(
        _ simulation: Simulation,
        _ app: (BaselineFixture, BaselineObserver, _ device: Int) -> some ReminderTrialApp
    ) {
        let fixture = BaselineFixture(simulation)
        let observer = BaselineObserver(simulation, noun: "tap")
        let apps = fixture.processes.indices.map { app(fixture, observer, $0) }
        for (tap, moment) in fixture.moments(from: .seconds(1), purpose: "tap").enumerated() {
            simulation.after(moment.at) { apps[moment.device].tapHappens(tap) }
        }
        fixture.play(rest: .seconds(240)) { fault, device in
            let name = fixture.processes[device].name
            let length = Baseline.seconds(fault.length)
            switch fault.kind {
            case .handlerLate:
                simulation.trace(name, "its store will load \(length) late at the next launch")
                apps[device].slowNextLoad(by: fault.length)
            case .gateCloses:
                simulation.trace(name, "its store does not answer for \(length)")
                apps[device].keepStoreBusy(for: fault.length)
            default: break
            }
        }
        observer.finish { _ in
            .recorded
        } _: { _ in
            "the system had been told that it was handled, and the route was in memory only"
        }
    }
}

extension Baseline {
    static let reminders: [Baseline] = [
        Baseline(
            name: "002-first", seed: "002",
            does: "looks a tapped reminder's goal up at once, loaded or not",
            shouldHaveKept: "the tap, durably, and a gate on the store (Reminders)",
            workload: SleepingRouterWorkload(version: .first), control: GatedRouterControl()),
        Baseline(
            name: "002-repaired", seed: "002",
            does: "sleeps 100 ms, saves the context and sleeps 50 ms more, then looks the goal up",
            shouldHaveKept: "the tap, durably, and a gate on the store (Reminders)",
            workload: SleepingRouterWorkload(version: .repaired), control: GatedRouterControl()),
    ]
}
