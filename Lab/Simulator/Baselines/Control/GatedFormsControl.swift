import RepriseCore

/// The workload of `case-push-form` with the shipping dispatch, gated on what the page signals.
package struct GatedFormsControl: Workload {
    package let name = "control-000"
    package let summary = "the shipping dispatch, tried as seed-000 is"

    package func schedule(seed: UInt64) -> FaultSchedule {
        BufferedFormsWorkload(version: .first).schedule(seed: seed)
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        BufferedFormsWorkload.play(simulation) { fixture, observer, device in
            App(simulation, fixture, observer, device)
        }
    }

    private final class App: FormsTrialApp {
        private let simulation: Simulation
        private let app: GatedControlApp
        private var pageHasFormsData = false

        private static let conditions: [Readiness] = [.sdk, .webView, .handshake, .formsData]

        init(
            _ simulation: Simulation, _ fixture: BaselineFixture, _ observer: BaselineObserver,
            _ device: Int
        ) {
            self.simulation = simulation
            app = GatedControlApp(
                simulation, "forms app \(device)", on: fixture.processes[device],
                disk: fixture.disks[device],
                kind: EntryKind("event", requires: Set(Self.conditions), parallel: 8)
            ) { observer.accepted($0, device: device) }
            app.launched = { [unowned self] in launch() }
            app.effect = { [unowned self] event in
                guard pageHasFormsData else {
                    return observer.landedWhereNotReady(
                        event, device: device, "dispatched to a page without forms data")
                }
                observer.tookEffect(event, device: device)
            }
        }

        func eventHappens(_ event: Int) { app.happens(event, onLaunchAfter: .milliseconds(100)) }

        func slowFormsData(by delay: Duration) { app.slowNextLoad(by: delay) }

        /// The moments of `BufferedFormsApp`; each is a signal here.
        private func launch() {
            pageHasFormsData = false
            let data = app.loading(.milliseconds(500), .milliseconds(2_500))
            let moments: [Duration] = [
                .milliseconds(1_300), .milliseconds(1_800), .milliseconds(2_300),
                .milliseconds(2_300) + data,
            ]
            for (condition, moment) in zip(Self.conditions, moments) {
                simulation.after(moment, on: app.process) { [self] in
                    if condition == .formsData { pageHasFormsData = true }
                    app.journal?.setReady(condition)
                }
            }
        }
    }
}
