import RepriseCore

/// Chains of parallel tasks for an app that is killed, has a full disk, and a medium that goes bad.
package struct SingleValueChainsWorkload: Workload {
    package let version: SingleValueChains.Version

    package var name: String { "seed-003-\(version == .first ? "first" : "repaired")" }
    package var summary: String { "the positions of all chains in one value" }

    package func schedule(seed: UInt64) -> FaultSchedule {
        .draw(
            seed: seed,
            kinds: [
                (.killDevice, 5), (.suspend, 2), (.diskFull, 2), (.damage, 1), (.handlerThrows, 1),
            ])
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        Self.play(simulation) { fixture, observer, device in
            SingleValueChainsApp(
                simulation, on: fixture.processes[device], disk: fixture.disks[device],
                device: device, version: version, observer: observer)
        }
    }

    /// Plays the workload with apps of whichever kind.
    static func play<App: ChainTrialApp>(
        _ simulation: Simulation, app: (BaselineFixture, ChainObserver, Int) -> App
    ) {
        let fixture = BaselineFixture(simulation)
        let observer = ChainObserver(fixture)
        let apps = fixture.processes.indices.map { app(fixture, observer, $0) }
        for (chain, moment) in fixture.moments(from: .seconds(1), purpose: "chain").enumerated() {
            var random = simulation.random("steps of chain \(chain)")
            let steps = (0..<(1 + random.index(3))).map { _ in 1 + random.index(3) }
            simulation.after(moment.at) { apps[moment.device].chainBegins(chain, steps: steps) }
        }
        fixture.play(rest: .seconds(240)) { fault, device in
            switch fault.kind {
            case .handlerThrows: apps[device].failNextTask()
            case .damage: apps[device].damage(fault.bits)
            default: break
            }
        }
        observer.finish()
    }
}

extension Baseline {
    static let chains: [Baseline] = [
        Baseline(
            name: "003-first", seed: "003",
            does: "runs chains in memory; after a kill the app begins them again from the start",
            shouldHaveKept: "a row for each task: its intent before, its outcome after (Chains)",
            workload: SingleValueChainsWorkload(version: .first), control: EntryChainsControl()),
        Baseline(
            name: "003-repaired", seed: "003",
            does:
                "saves the positions of all chains as one value after each step; a failed save is "
                + "logged, and an unreadable value cleared",
            shouldHaveKept: "a row for each task: its intent before, its outcome after (Chains)",
            workload: SingleValueChainsWorkload(version: .repaired),
            control: EntryChainsControl()),
    ]
}
