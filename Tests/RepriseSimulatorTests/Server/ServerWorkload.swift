import RepriseCore
import RepriseServer
import RepriseSimulator
import RepriseWire

/// Producers, a server and probes, under all faults that concern a server.
struct ServerWorkload: Workload {
    let name = "server"
    let summary = "The server against probes: what it acknowledges, sends and keeps."

    static let kinds: [(kind: Fault.Kind, weight: Int)] = [
        (.delay, 1), (.slow, 2), (.drop, 2), (.duplicate, 1), (.reorder, 1), (.cut, 2),
        (.halfOpen, 1), (.partition, 2), (.killServer, 6), (.powerLossServer, 3),
        (.serverDiskFull, 3), (.serverSyncFails, 5), (.retention, 3), (.restore, 2),
        (.newEpoch, 1), (.suspend, 1),
    ]

    func schedule(seed: UInt64) -> FaultSchedule {
        FaultSchedule.draw(seed: seed, kinds: Self.kinds, length: (.seconds(10), .seconds(120)))
    }

    func play(_ simulation: Simulation, on tier: Tier) {
        do {
            let run = try Run(simulation)
            withExtendedLifetime(run) { run.play() }
        } catch {
            simulation.violated(.agreement, "\(error)")
        }
    }

    private final class Run {
        let simulation: Simulation
        let channel: ChannelName
        let server: SimulatedServer
        let checker: ServerChecker
        let network: SimulatedNetwork
        let probes: [ProbeDevice]
        let injector: FaultInjector
        var random: SeededRandom
        var acknowledged: [EntryID] = []
        var isLogReplaced = false

        init(_ simulation: Simulation) throws {
            self.simulation = simulation
            let channel = try ChannelName("room")
            self.channel = channel
            let network = SimulatedNetwork(simulation)
            self.network = network
            let store = ModelLogStore(
                LogModel(epoch: try SimulatedServer.firstEpoch()), mutation: simulation.mutation)
            server = SimulatedServer(
                simulation, network: network, store: store, settings: .drawn(for: simulation))
            checker = ServerChecker(simulation, server)
            probes = try (0..<simulation.schedule.devices).map {
                try ProbeDevice(simulation, network, channel, number: $0)
            }
            injector = FaultInjector(
                simulation, network: network,
                devices: probes.map { .init(process: $0.process, disk: $0.disk, crash: { _ in }) },
                servers: [server.machine])
            random = simulation.random("producers")
        }

        func play() {
            checker.watch()
            injector.schedule(special: special)
            server.process.start()
            for probe in probes { probe.process.start() }
            let length = simulation.schedule.length
            // In bursts, so that commits are shared and follow each other closely.
            let moments = (0..<8).map { _ in length * random.fraction() }
            for number in 0..<simulation.schedule.messages {
                simulation.after(moments[number % 8]) { [self] in produce(number) }
            }
            simulation.after(length * 0.3) { [self] in server.backUp() }
            simulation.run(until: length)
            injector.heal()
            simulation.run(until: length + .seconds(400))
            check()
        }

        private func special(_ fault: Fault) {
            switch fault.kind {
            case .retention:
                simulation.met(.retention)
                server.trim(RetentionPolicy(count: Int64(fault.bits % 20)))
            case .restore, .newEpoch:
                guard server.process.state == .running else { return }
                simulation.met(fault.kind)
                isLogReplaced = true
                if fault.kind == .restore {
                    server.restore(outage: fault.length)
                } else {
                    server.beginNewLog(outage: fault.length)
                }
            default: break
            }
        }

        private func produce(_ number: Int) {
            guard let id = try? EntryID("m\(number)") else { return }
            let message = NewMessage(
                channel: channel, id: id, body: Array("\(number)".utf8))
            server.publish([message]) { [self] result in
                switch (try? result.get())?.first {
                case .stored?, .buried?, .duplicate?: acknowledged.append(id)
                case .refused?, nil: simulation.after(.seconds(2)) { [self] in produce(number) }
                }
            }
        }

        private func check() {
            guard simulation.violation == nil else { return }
            if acknowledged.count != simulation.schedule.messages {
                simulation.violated(
                    .alive, "\(simulation.schedule.messages - acknowledged.count) unacknowledged")
            }
            if !isLogReplaced, let lost = acknowledged.first(where: { !checker.holds($0) }) {
                simulation.violated(.recorded, "\(lost) was acknowledged and is not stored")
            }
            checker.check()
            let (state, messages) = (server.state(of: channel), server.messages(in: channel))
            for probe in probes {
                if probe.epoch != state.epoch || !probe.coverage.isComplete(through: state.head) {
                    simulation.violated(
                        .alive,
                        "\(probe.process.name) covers \(probe.coverage) of \(state.head)")
                }
                for message in messages where probe.ids[message.seq] != message.id {
                    simulation.violated(
                        .recorded, "\(probe.process.name) lacks \(message.seq) (\(message.id))")
                }
            }
        }
    }
}
