import RepriseCore
import RepriseWire

/// People type in channels, while everything goes wrong that can: who is said to type does, and it
/// ends.
///
/// The shipping `TypingMachine` and `TypingBoard`; nothing of it is on a disk, so all tiers are the
/// same.
package struct TypingWorkload: Workload {
    package let name = "typing"
    package let summary = "People type in channels, and others see it."

    package init() {}

    package func schedule(seed: UInt64) -> FaultSchedule {
        .draw(
            seed: seed,
            kinds: [
                (.delay, 3), (.slow, 1), (.cut, 8), (.halfOpen, 8), (.partition, 4),
                (.killDevice, 8), (.killServer, 4), (.suspend, 6), (.clockJump, 2),
            ])
    }

    package func play(_ simulation: Simulation, on tier: Tier) {
        let network = SimulatedNetwork(simulation)
        let channels = (0..<2).compactMap { try? ChannelName("room-\($0)") }
        let users = (0..<3).compactMap { try? UserID("user-\($0)") }
        let checker = TypingChecker(simulation)
        let server = TypingServer(simulation, network, users: users, checker)
        let devices = (0..<simulation.schedule.devices).map {
            TypingDevice(
                simulation, network, name: "device-\($0)", user: users[$0 % users.count],
                channels: channels, checker)
        }
        let injector = FaultInjector(
            simulation, network: network,
            devices: devices.map {
                .init(process: $0.process, disk: SimulatedDisk(simulation, name: $0.name)) { _ in }
            },
            servers: [
                .init(
                    process: server.process,
                    disk: SimulatedDisk(simulation, name: "server", isServer: true)
                ) { _ in }
            ])
        server.process.start()
        for device in devices {
            device.process.start()
            watch(device, simulation)
        }
        type(devices, channels, simulation)
        injector.schedule { _ in }
        simulation.run(until: simulation.schedule.length)
        injector.heal()
        // A connection that is half open is noticed, and everybody is back.
        simulation.run(until: simulation.now + .seconds(120))
        guard simulation.violation == nil else { return }
        check(devices, channels, checker, simulation)
    }

    private func watch(_ device: TypingDevice, _ simulation: Simulation) {
        simulation.after(.milliseconds(250)) {
            device.look()
            watch(device, simulation)
        }
    }

    /// Bursts of keys; some end with a message, some just end.
    private func type(
        _ devices: [TypingDevice], _ channels: [ChannelName], _ simulation: Simulation
    ) {
        var random = simulation.random("keys")
        for _ in 0..<simulation.schedule.messages / 2 {
            let device = devices[random.index(devices.count)]
            let channel = channels[random.index(channels.count)]
            var moment = simulation.schedule.length * random.fraction()
            for _ in 0..<1 + random.index(20) {
                simulation.after(moment) { device.types(in: channel) }
                moment += random.spread(.milliseconds(50), .seconds(4))
            }
            if random.chance(0.5) { simulation.after(moment) { device.clears(channel) } }
        }
    }

    /// All is well: who types is seen, who stops or dies is not.
    private func check(
        _ devices: [TypingDevice], _ channels: [ChannelName], _ checker: TypingChecker,
        _ simulation: Simulation
    ) {
        func expect(_ isSeen: Bool, _ author: TypingDevice, _ when: String) {
            for device in devices where device.user != author.user {
                let shown = device.shown[channels[0]] ?? []
                if shown.contains(author.user) != isSeen {
                    simulation.violated(
                        .alive, "\(device.name) sees \(shown) type \(when) by \(author.user)")
                }
            }
        }
        let author = devices[0]
        expect(false, author, "before a key is pressed")
        author.types(in: channels[0])
        simulation.run(until: simulation.now + .seconds(1))
        expect(true, author, "after a key was pressed")
        author.clears(channels[0])
        simulation.run(until: simulation.now + .seconds(1))
        expect(false, author, "after the text was sent")
        author.types(in: channels[0])
        simulation.run(until: simulation.now + .seconds(1))
        expect(true, author, "after a key was pressed again")
        author.process.kill("is killed while its user types")
        simulation.run(until: simulation.now + .seconds(12))
        expect(false, author, "after a kill")
        if simulation.violation == nil, !checker.nobodyTypes {
            simulation.violated(.alive, "the server goes on saying that somebody types")
        }
    }
}
