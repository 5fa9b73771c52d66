/// What every baseline's run has in common: its devices' processes, faults, an end at which
/// everything heals.
struct BaselineFixture {
    let simulation: Simulation
    let network: SimulatedNetwork
    let processes: [SimulatedProcess]
    let disks: [SimulatedDisk]

    init(_ simulation: Simulation) {
        self.simulation = simulation
        network = SimulatedNetwork(simulation)
        let names = (0..<simulation.schedule.devices).map(Self.name)
        processes = names.map { SimulatedProcess(simulation, name: $0) }
        disks = names.map { SimulatedDisk(simulation, name: $0) }
    }

    static func name(_ device: Int) -> String { "device-\(device + 1)" }

    /// Plays to the end of the schedule, heals everything, and plays on for `rest`.
    func play(rest: Duration, special: @escaping (Fault, Int) -> Void) {
        let injector = FaultInjector(
            simulation, network: network,
            devices: zip(processes, disks).map { .init(process: $0, disk: $1, crash: { _ in }) })
        let count = processes.count
        injector.schedule { special($0, $0.target % count) }
        for process in processes { process.start() }
        simulation.run(until: simulation.schedule.length)
        // A long night (a phone that is not touched for days) may reach beyond the schedule.
        injector.heal()
        simulation.run(until: simulation.schedule.length + rest)
    }

    /// When each message comes, and for which device: even over the schedule, in order, none before
    /// `earliest`.
    func moments(from earliest: Duration, purpose: String) -> [(at: Duration, device: Int)] {
        let schedule = simulation.schedule
        let span = max(.seconds(1), schedule.length - earliest)
        return (0..<schedule.messages).map { number in
            // A source for each message, so that taking the last ones away changes nothing of the
            // others.
            var random = simulation.random("\(purpose) \(number)")
            return (earliest + span * random.fraction(), random.index(schedule.devices))
        }
    }
}
