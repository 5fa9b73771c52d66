import RepriseCore

/// The workload of `case-reminder-routing` with the shipping dispatch, gated on the store.
package struct GatedRouterControl: Workload {
    package let name = "control-002"
    package let summary = "the shipping dispatch, tried as seed-002 is"

    package func schedule(seed: UInt64) -> FaultSchedule {
        SleepingRouterWorkload(version: .first).schedule(seed: seed)
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        SleepingRouterWorkload.play(simulation) { fixture, observer, device in
            App(simulation, fixture, observer, device)
        }
    }

    private final class App: ReminderTrialApp {
        private let simulation: Simulation
        private let app: GatedControlApp
        private var busyUntil: Duration = .zero
        private var isStoreLoaded = false

        init(
            _ simulation: Simulation, _ fixture: BaselineFixture, _ observer: BaselineObserver,
            _ device: Int
        ) {
            self.simulation = simulation
            app = GatedControlApp(
                simulation, "reminder app \(device)", on: fixture.processes[device],
                disk: fixture.disks[device],
                kind: EntryKind("tap", requires: [.store], parallel: 8)
            ) { observer.accepted($0, device: device) }
            app.launched = { [unowned self] in launch() }
            app.obstacle = { [unowned self] _ in
                mayLookUp ? nil : DispatchFailure.notReady("the store does not answer")
            }
            app.effect = { observer.tookEffect($0, device: device) }
        }

        /// What a look-up now finds is what the store has.
        private var mayLookUp: Bool { isStoreLoaded && simulation.now >= busyUntil }

        func tapHappens(_ tap: Int) { app.happens(tap, onLaunchAfter: .milliseconds(20)) }

        func slowNextLoad(by delay: Duration) { app.slowNextLoad(by: delay) }

        func keepStoreBusy(for duration: Duration) {
            busyUntil = simulation.now + duration
            simulation.met(.gateCloses)
            app.journal?.setNotReady(.store)
            openLater()
        }

        private func launch() {
            isStoreLoaded = false
            let loading = app.loading(.milliseconds(10), .milliseconds(90))
            simulation.after(loading, on: app.process) { [self] in
                isStoreLoaded = true
                openLater()
            }
        }

        /// The store says when it answers again.
        private func openLater() {
            simulation.after(max(busyUntil - simulation.now, .zero), on: app.process) { [self] in
                if mayLookUp { app.journal?.setReady(.store) }
            }
        }
    }
}
