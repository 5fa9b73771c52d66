import RepriseCore
import RepriseSimulator
import Testing

@Suite("Simulation")
struct SimulationTests {
    @Test("the same seed draws the same numbers, another purpose others")
    func random() {
        let draw = { (seed: UInt64, purpose: String) in
            var random = SeededRandom(seed: seed, purpose: purpose)
            return (0..<4).map { _ in random.next() }
        }
        #expect(draw(1, "a") == draw(1, "a"))
        #expect(draw(1, "a") != draw(1, "b"))
        #expect(draw(1, "a") != draw(2, "a"))
    }

    @Test("long and short are drawn alike, within their bounds")
    func spread() {
        var random = SeededRandom(seed: 7)
        let drawn = (0..<2_000).map { _ in random.spread(.milliseconds(1), .seconds(1_000)) }
        #expect(drawn.allSatisfy { $0 >= .milliseconds(1) && $0 <= .seconds(1_000) })
        let short = drawn.count { $0 < .seconds(1) }  // the middle of the logarithm
        #expect((900...1_100).contains(short))
    }

    private static func simulation() -> Simulation {
        Simulation(
            FaultSchedule(seed: 1, devices: 2, messages: 50, faults: [], length: .seconds(60)))
    }

    @Test("events due at one moment happen in the order in which they were scheduled")
    func order() {
        let simulation = Self.simulation()
        var seen: [Int] = []
        simulation.after(.seconds(2)) { seen.append(3) }
        simulation.after(.seconds(1)) {
            seen.append(1)
            simulation.after(.zero) { seen.append(2) }
        }
        simulation.after(.seconds(2)) { seen.append(4) }
        simulation.run(until: .seconds(10))
        #expect(seen == [1, 2, 3, 4])
        #expect(simulation.now == .seconds(10))
    }

    @Test("a timer for a part of a nanosecond fires at its moment, not before")
    func rounding() {
        let simulation = Self.simulation()
        let due = Duration.seconds(1) / 3
        var found: [Bool] = []
        simulation.after(due) { found.append(simulation.now >= due) }
        simulation.run(until: .seconds(1))
        #expect(found == [true])
    }

    @Test("a restarted process gets no connection that its former life dialled")
    func dials() {
        let simulation = Self.simulation()
        let network = SimulatedNetwork(simulation)
        let server = SimulatedProcess(simulation, name: "server")
        let device = SimulatedProcess(simulation, name: "device")
        var answers: [String] = []
        server.start()
        network.listen(as: "server", on: server) { _ in answers.append("server") }
        device.start()
        network.dial(from: device, to: "server") { _ in answers.append("former") }
        simulation.after(.zero) {
            device.kill()
            device.start()
        }
        simulation.run(until: .seconds(30))
        #expect(answers.isEmpty)
        network.dial(from: device, to: "server") { answers.append($0 == nil ? "nobody" : "new") }
        simulation.run(until: .seconds(60))
        #expect(answers == ["server", "new"])
        simulation.end()
    }

    @Test(
        "a dialling device is notified if the connection ends before it arrives",
        arguments: [true, false])
    func endedOnItsWay(isCut: Bool) {
        let simulation = Self.simulation()
        let network = SimulatedNetwork(simulation)
        let server = SimulatedProcess(simulation, name: "server")
        let device = SimulatedProcess(simulation, name: "device")
        let cut = Fault(.cut, at: .zero)
        var heard: [String] = []
        server.start()
        network.listen(as: "server", on: server) { _ in
            heard.append("accepted")
            if isCut { network.inflict(cut, on: device) }
        }
        device.start()
        network.dial(from: device, to: "server") { socket in
            heard.append(socket == nil ? "nobody" : "connected")
            socket?.closed = { _ in heard.append("closed") }
        }
        simulation.run(until: .seconds(30))
        #expect(heard == ["accepted", isCut ? "nobody" : "connected"])
        simulation.end()
    }

    @Test("a run that is over leaves nothing behind", arguments: Workloads.all.map(\.name))
    func memory(name: String) async throws {
        let workload = try #require(Workloads.named(name))
        weak var left: Simulation?
        func play() {
            let simulation = Simulation(workload.schedule(seed: 3))
            left = simulation
            workload.play(simulation, on: .model)
            simulation.end()
        }
        play()
        // Whatever is left would hold the simulation, by way of its process or its clock. A journal
        // that ships ends on threads of its own.
        let deadline = ContinuousClock.now + .seconds(10)
        while left != nil, ContinuousClock.now < deadline { await Task.yield() }
        #expect(left == nil)
    }

    @Test("a loop in which no time passes is a violated invariant, not a hang")
    func loop() {
        let simulation = Self.simulation()
        func again() { simulation.after(.zero) { again() } }
        again()
        simulation.run(until: .seconds(1))
        #expect(simulation.violation?.invariant == .alive)
    }

    @Test("events of a killed process never happen, and those of a suspended one come late")
    func lives() {
        let simulation = Self.simulation()
        let process = SimulatedProcess(simulation, name: "app")
        var seen: [String] = []
        process.start()
        simulation.after(.seconds(1), on: process) { seen.append("of the first life") }
        process.kill()
        process.start()
        simulation.after(.seconds(2), on: process) { seen.append("late \(simulation.now.clock)") }
        simulation.after(.seconds(1)) { process.suspend() }
        simulation.after(.seconds(60)) { process.resume() }
        simulation.run(until: .seconds(100))
        #expect(seen == ["late 01:00.000"])
    }

    @Test("a process dies before the effect that was chosen, and makes none after it")
    func betweenEffects() {
        let simulation = Self.simulation()
        let process = SimulatedProcess(simulation, name: "app")
        process.start()
        process.arm(after: 2) { process.kill() }
        let survived = (0..<5).map { _ in process.survives() }
        #expect(survived == [true, true, false, false, false])
    }

    @Test("a commit whose disk is full or fails its sync is told apart")
    func disk() {
        let simulation = Self.simulation()
        let disk = SimulatedDisk(simulation, name: "app")
        #expect(disk.commit() == .done)
        disk.failSyncs(1)
        #expect(disk.commit() == .syncFailed)
        disk.fill(for: .seconds(5))
        #expect(disk.commit() == .full)
        simulation.run(until: .seconds(6))
        #expect(disk.commit() == .done)
        #expect(simulation.faultsMet == [.diskFull: 1, .syncFails: 1])
    }

    @Test("the calendar jumps and drifts, uptime does not")
    func clocks() {
        let simulation = Self.simulation()
        let clock = SimulatedClock(simulation)
        let uptime = clock.uptime()
        clock.drift(0.1)
        simulation.run(until: .seconds(100))
        clock.jump(by: .seconds(-3_600))
        #expect(clock.uptime() - uptime == .seconds(100))
        #expect(
            SimulatedClock.beginning.duration(to: clock.wall()) == .seconds(100 + 10 - 3_600))
        let boot = clock.boot
        clock.restart()
        #expect(clock.boot != boot && clock.uptime() == .zero)
    }

    @Test("every schedule has at least 2 devices, 50 messages and 3 faults, in order of time")
    func schedules() {
        for seed in UInt64(1)..<500 {
            let schedule = Relay().schedule(seed: seed)
            #expect(schedule.devices >= 2 && schedule.messages >= 50 && schedule.faults.count >= 3)
            #expect(schedule.faults.map(\.index) == Array(0..<schedule.faults.count))
            #expect(schedule.faults.map(\.at) == schedule.faults.map(\.at).sorted())
        }
    }
}
