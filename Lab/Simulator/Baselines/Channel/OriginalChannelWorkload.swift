import RepriseWire

/// One channel, one publisher that never fails, and devices with `case-catch-up`'s client on a
/// network that does.
package struct OriginalChannelWorkload: Workload {
    package let version: OriginalChannelClient.Version

    package var name: String { "seed-001-\(version == .first ? "first" : "repaired")" }
    package var summary: String { "a set in catch-up, the highest sequence when live" }

    package func schedule(seed: UInt64) -> FaultSchedule {
        .draw(
            seed: seed,
            kinds: [
                (.cut, 4), (.partition, 2), (.reorder, 1), (.delay, 2), (.suspend, 2),
                (.killDevice, 2), (.handlerThrows, 2), (.handlerLate, 2),
            ])
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        Self.play(simulation, OriginalChannelClient(version, highest: 0))
    }

    static func play(_ simulation: Simulation, _ client: some ChannelTrialClient) {
        let fixture = BaselineFixture(simulation)
        let observer = BaselineObserver(simulation, noun: "message", first: 1)
        let server = OriginalChannelServer(simulation, network: fixture.network)
        let devices = fixture.processes.enumerated().map { device, process in
            OriginalChannelDevice(
                simulation, network: fixture.network, on: process, device: device, client: client,
                observer: observer)
        }
        var published = 0
        let publish = {
            server.publish()
            for device in devices.indices { observer.accepted(published, device: device) }
            published += 1
        }
        // A quarter of the messages is there before the devices: the first subscription finds a
        // backlog.
        for moment in fixture.moments(from: .zero, purpose: "message")
            .sorted(by: { $0.at < $1.at }).enumerated()
        {
            if moment.offset % 4 == 0 {
                publish()
            } else {
                simulation.after(moment.element.at, publish)
            }
        }
        // What is late only would come with the next subscription: it is not held against a device
        // before that.
        simulation.after(simulation.schedule.length + .seconds(200)) {
            for device in devices { device.connectAnew() }
        }
        fixture.play(rest: .seconds(400)) { fault, _ in
            switch fault.kind {
            case .handlerThrows:
                server.breakNextCatchUp(
                    after: Int(fault.bits % 6), closing: fault.bits >> 8 & 1 == 0)
            case .handlerLate: server.stall(for: fault.length)
            default: break
            }
        }
        observer.finish {
            devices[$0].isFrozen ? .alive : .recorded
        } _: {
            devices[$0].isFrozen
                ? "it froze, without a connection and without asking for one"
                : "it has subscribed again, from its highest sequence, and never asks for what lies below"
        }
    }
}

/// The same with the shipping coverage.
package struct CoverageControlWorkload: Workload {
    package let name = "control-001"
    package let summary = "the shipping coverage, tried as seed-001 is"

    package func schedule(seed: UInt64) -> FaultSchedule {
        OriginalChannelWorkload(version: .first).schedule(seed: seed)
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        OriginalChannelWorkload.play(simulation, CoverageControl())
    }
}

extension Baseline {
    static let channels: [Baseline] = [
        Baseline(
            name: "001-first", seed: "001",
            does: "ends its catch-up when its queue happens to be empty, then takes seq > highest",
            shouldHaveKept: "coverage and the catch-up's target: which ranges it has (Channels)",
            workload: OriginalChannelWorkload(version: .first), control: CoverageControlWorkload()),
        Baseline(
            name: "001-repaired", seed: "001",
            does: "ends its catch-up at sync_complete, after 30 s of silence, or on an error; "
                + "then takes seq > highest, and resyncs from the highest",
            shouldHaveKept: "coverage and the catch-up's target: which ranges it has (Channels)",
            workload: OriginalChannelWorkload(version: .repaired),
            control: CoverageControlWorkload()),
    ]
}
