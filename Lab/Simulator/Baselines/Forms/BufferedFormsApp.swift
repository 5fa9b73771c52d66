import RepriseCore

/// What an app in the workload of `case-push-form` is: the original's own, or the control beside
/// it.
protocol FormsTrialApp: AnyObject {
    /// The app's own event, or a tap.
    func eventHappens(_ event: Int)
    /// The forms data of the next launch comes later.
    func slowFormsData(by delay: Duration)
}

/// An app with `case-push-form`'s buffer, its web view and the page in it, in virtual time.
final class BufferedFormsApp: FormsTrialApp {
    private let simulation: Simulation
    private let process: SimulatedProcess
    private let observer: BaselineObserver
    private let version: BufferedForms.Version
    private let device: Int
    private var random: SeededRandom
    /// How much longer than usual the next page waits for its forms data.
    private var extraDelay: Duration = .zero

    // The memory of one life.
    private var machine: BufferedForms
    private var pageHasFormsData = false

    init(
        _ simulation: Simulation, on process: SimulatedProcess, device: Int,
        version: BufferedForms.Version, observer: BaselineObserver
    ) {
        self.simulation = simulation
        self.process = process
        self.device = device
        self.version = version
        self.observer = observer
        random = simulation.random("forms app \(device)")
        machine = BufferedForms(version)
        process.started = { [unowned self] in launch() }
    }

    /// The network is slow from now on: "TIMEOUT (offline/error)".
    func slowFormsData(by delay: Duration) { extraDelay = delay }

    /// The app's own event, or a tap: one on an app that is not running launches it.
    func eventHappens(_ event: Int) {
        process.resume()
        guard process.state == .dead else { return create(event) }
        process.start()
        // handle(notificationResponse:) comes 0.1 s after didFinishLaunching.
        simulation.after(.milliseconds(100), on: process) { [self] in create(event) }
    }

    private func create(_ event: Int) {
        simulation.trace(process.name, "event \(event) is created")
        perform(machine.eventCreated(event))
        // The call has returned: whoever called believes it is done.
        guard process.survives("create(event: \(event)) returns") else { return }
        observer.accepted(event, device: device)
    }

    /// The original's own timeline: 1.3 s to the SDK, 0.5 s to the web view, 0.5 s to the
    /// handshake.
    private func launch() {
        machine = BufferedForms(version)
        pageHasFormsData = false
        simulation.after(.milliseconds(1_300), on: process) { [self] in
            simulation.trace(process.name, "the SDK is initialized")
            perform(machine.initialized())
        }
        simulation.after(.milliseconds(1_800), on: process) { [self] in
            simulation.trace(process.name, "the web view is created")
            machine.webViewCreated()
        }
        simulation.after(.milliseconds(2_300), on: process) { [self] in handshake() }
    }

    private func handshake() {
        // "FAST NETWORK: 0.5s … SLOW NETWORK (3G): 2.5s".
        var delay = random.duration(.milliseconds(500), .milliseconds(2_500))
        if extraDelay > .zero {
            simulation.met(.handlerLate)
            delay += extraDelay
            extraDelay = .zero
        }
        simulation.trace(process.name, "the handshake is complete")
        simulation.after(delay, on: process) { [self] in
            simulation.trace(process.name, "the page has its forms data")
            pageHasFormsData = true
            machine.formsDataLoaded()
        }
        perform(machine.handshakeCompleted(at: simulation.now))
    }

    private func perform(_ actions: [BufferedForms.Action]) {
        for action in actions {
            switch action {
            case .sleep(let duration):
                simulation.after(duration, on: process) { [self] in
                    // `Date()` goes on while the process is suspended; its sleep does not.
                    perform(machine.sleepEnded(at: simulation.now))
                }
            case .dispatch(let event):
                guard process.survives("dispatches event \(event)") else { return }
                receive(event)
            }
        }
    }

    /// `dispatchProfileEvent` in the page.
    private func receive(_ event: Int) {
        guard pageHasFormsData else {
            return observer.landedWhereNotReady(
                event, device: device,
                "dispatched to a page without forms data, which ignores it and shows no form")
        }
        simulation.trace(process.name, "the form for event \(event) shows")
        observer.tookEffect(event, device: device)
    }
}

/// Events and taps for an app that is killed, frozen, and slow to get its forms.
package struct BufferedFormsWorkload: Workload {
    package let version: BufferedForms.Version

    package var name: String { "seed-000-\(version.label)" }
    package var summary: String { "events for a web view that is not ready" }

    package func schedule(seed: UInt64) -> FaultSchedule {
        .draw(seed: seed, kinds: [(.killDevice, 3), (.suspend, 2), (.handlerLate, 3)])
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        Self.play(simulation) { fixture, observer, device in
            BufferedFormsApp(
                simulation, on: fixture.processes[device], device: device, version: version,
                observer: observer)
        }
    }

    static func play(
        _ simulation: Simulation,
        _ app: (BaselineFixture, BaselineObserver, _ device: Int) -> some FormsTrialApp
    ) {
        let fixture = BaselineFixture(simulation)
        let observer = BaselineObserver(simulation, noun: "event")
        let apps = fixture.processes.indices.map { app(fixture, observer, $0) }
        // Without faults every event finds an app that runs and is ready: "What Works Fine".
        for (event, moment) in fixture.moments(from: .seconds(8), purpose: "event").enumerated() {
            simulation.after(moment.at) { apps[moment.device].eventHappens(event) }
        }
        fixture.play(rest: .seconds(240)) { fault, device in
            guard fault.kind == .handlerLate else { return }
            simulation.trace(
                fixture.processes[device].name,
                "the forms data of the next launch comes \(Baseline.seconds(fault.length)) late")
            apps[device].slowFormsData(by: fault.length)
        }
        observer.finish { _ in
            .recorded
        } _: { _ in
            "its buffer was in memory only"
        }
    }
}

extension BufferedForms.Version {
    var label: String {
        switch self {
        case .first: "first"
        case .repaired: "repaired"
        case .atItsBest: "at-its-best"
        }
    }
}

extension Baseline {
    static let forms: [Baseline] = [
        Baseline(
            name: "000-first", seed: "000",
            does: "hands an event to the web view if there is one, and forgets it if there is none",
            shouldHaveKept: "the event, durably, until the page has acknowledged it (Forms)",
            workload: BufferedFormsWorkload(version: .first), control: GatedFormsControl()),
        Baseline(
            name: "000-repaired", seed: "000",
            does: "buffers events in memory until the web view is there, and replays after 3 s",
            shouldHaveKept:
                "the event, durably, and a gate on formsData instead of a clock (Forms)",
            workload: BufferedFormsWorkload(version: .repaired), control: GatedFormsControl()),
        Baseline(
            name: "000-at-its-best", seed: "000",
            does: "the same, and buffers what comes while the replay is awaited as well",
            shouldHaveKept:
                "the event, durably, and a gate on formsData instead of a clock (Forms)",
            workload: BufferedFormsWorkload(version: .atItsBest), control: GatedFormsControl()),
    ]
}
