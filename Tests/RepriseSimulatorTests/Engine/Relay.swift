import RepriseCore
import RepriseSimulator
import RepriseWire

/// A small workload to try the engine with: a server counts aloud, devices write down what they
/// hear and ask again from where they are.
///
/// With any mutation it does not ask again, and loses what a kill or a cut swallowed.
struct Relay: Workload {
    let name = "relay"
    let summary = "A server counts aloud."

    func schedule(seed: UInt64) -> FaultSchedule {
        .draw(seed: seed, kinds: [(.killDevice, 2), (.cut, 2), (.delay, 1), (.suspend, 1)])
    }

    func play(_ simulation: Simulation, on tier: Tier) {
        let network = SimulatedNetwork(simulation)
        let server = SimulatedProcess(simulation, name: "server")
        server.start()
        var count = 0
        var sockets: [SimulatedSocket] = []
        network.listen(as: "relay", on: server) { socket in
            socket.received = { frames in
                let from = Int(String(decoding: frames.last ?? [], as: UTF8.self)) ?? 0
                if from < count {
                    socket.send((from + 1...count).map { Array("\($0)".utf8) })
                }
                sockets.append(socket)
            }
            socket.closed = { _ in sockets.removeAll { $0 === socket } }
        }
        var random = simulation.random("producer")
        for _ in 0..<simulation.schedule.messages {
            simulation.after(simulation.schedule.length * random.fraction(), on: server) {
                count += 1
                for socket in sockets { socket.send([Array("\(count)".utf8)]) }
            }
        }
        let devices = (0..<simulation.schedule.devices).map {
            RelayDevice(simulation, network, name: "device \($0)")
        }
        let injector = FaultInjector(
            simulation, network: network,
            devices: devices.map {
                .init(
                    process: $0.process, disk: SimulatedDisk(simulation, name: $0.process.name),
                    crash: { _ in })
            })
        injector.schedule { _ in }
        for device in devices { device.process.start() }
        let end = simulation.schedule.length + .seconds(3_600)
        simulation.run(until: end)
        injector.heal()
        simulation.run(until: end + .seconds(300))
        for device in devices where device.heard != Array(1...max(1, count)) {
            simulation.violated(
                .recorded, "\(device.process.name) heard \(device.heard.count) of \(count)")
        }
    }
}

private final class RelayDevice {
    let process: SimulatedProcess
    /// What it has on its disk.
    var heard: [Int] = []

    init(_ simulation: Simulation, _ network: SimulatedNetwork, name: String) {
        process = SimulatedProcess(simulation, name: name)
        process.started = { [unowned self] in connect(simulation, network) }
    }

    private func connect(_ simulation: Simulation, _ network: SimulatedNetwork) {
        network.dial(from: process, to: "relay") { [self] socket in
            guard let socket else {
                return simulation.after(.seconds(1), on: process) { [self] in
                    connect(simulation, network)
                }
            }
            socket.received = { [self] frames in
                for frame in frames {
                    guard process.survives("writing down") else { return }
                    let number = Int(String(decoding: frame, as: UTF8.self)) ?? 0
                    simulation.trace(process.name, "hears \(number)")
                    if number == (heard.last ?? 0) + 1 || simulation.mutation != nil {
                        heard.append(number)
                    }
                }
            }
            socket.closed = { [self] _ in connect(simulation, network) }
            let from = simulation.mutation == nil ? heard.count : Int.max / 2
            socket.send([Array("\(from)".utf8)])
        }
    }
}
