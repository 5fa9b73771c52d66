import RepriseCore
import RepriseServer
import RepriseSimulator
import RepriseWire
import Testing

/// A server, its witness and a probe, without faults but those of the script.
private final class ServerScene {
    let simulation: Simulation
    let network: SimulatedNetwork
    let server: SimulatedServer
    let checker: ServerChecker
    let probe: ProbeDevice
    let room: ChannelName
    private(set) var answers: [String: [Result<[AppendResult], RepriseError>]] = [:]

    init(
        seed: UInt64 = 1, configure: (inout SimulatedServer.Settings) -> Void = { _ in }
    ) throws {
        simulation = Simulation(
            FaultSchedule(seed: seed, devices: 1, messages: 0, faults: [], length: .seconds(1)))
        network = SimulatedNetwork(simulation)
        room = try ChannelName("room")
        var settings = SimulatedServer.Settings()
        configure(&settings)
        server = SimulatedServer(
            simulation, network: network,
            store: ModelLogStore(LogModel(epoch: try SimulatedServer.firstEpoch())),
            settings: settings)
        checker = ServerChecker(simulation, server)
        probe = try ProbeDevice(simulation, network, room, number: 0)
        checker.watch()
        server.process.start()
    }

    func publish(_ names: String...) throws {
        for name in names {
            let message = NewMessage(
                channel: room, id: try EntryID(name), body: Array("\"\(name)\"".utf8))
            server.publish([message]) { [self] in answers[name, default: []].append($0) }
        }
    }

    func run(_ duration: Duration) { simulation.run(until: simulation.now + duration) }

    /// The sequences that were answered for an id; nil for a failure.
    func sequences(_ name: String) -> [Int64?] {
        (answers[name] ?? []).map { result in
            switch (try? result.get())?.first {
            case .stored(let event)?, .buried(_, let event)?: event.seq
            case .duplicate(let seq)?: seq
            case .refused?, nil: nil
            }
        }
    }

    func expectComplete(_ comment: Comment = "") {
        checker.check()
        #expect(simulation.violation == nil, comment)
        #expect(probe.coverage.isComplete(through: server.state(of: room).head), comment)
        for event in server.messages(in: room) {
            #expect(probe.ids[event.seq] == event.id, comment)
        }
    }
}

@Suite("A server in virtual time, step by step")
struct ServerScriptTests {
    @Test("a device that subscribes around a commit gets it, without waiting for a heartbeat")
    func aroundCommit() throws {
        for seed: UInt64 in 0..<200 {
            let scene = try ServerScene(seed: seed)
            scene.simulation.after(.microseconds(Int64(seed) * 600)) { scene.probe.process.start() }
            try scene.publish("one")
            scene.run(.seconds(2))
            #expect(scene.probe.ids.count == 1)
            scene.expectComplete("seed \(seed)")
        }
    }

    @Test("a commit that failed was seen by nobody, and its message gets the same place again")
    func failedCommit() throws {
        for seed: UInt64 in 0..<40 {
            let scene = try ServerScene(seed: seed)
            scene.probe.process.start()
            try scene.publish("one")
            scene.run(.seconds(2))
            scene.server.disk.failSyncs(1)
            try scene.publish("two")
            scene.run(.seconds(2))
            #expect(scene.sequences("two") == [nil])
            #expect(scene.probe.ids.count == 1)
            if seed % 2 == 0 {  // killed in doubt: it may be there or not
                scene.server.process.kill()
                scene.server.crash(losingPower: seed % 4 == 0)
                scene.server.process.start()
            }
            try scene.publish("two")
            scene.run(.seconds(10))
            #expect(scene.sequences("two") == [nil, 2])
            scene.expectComplete("seed \(seed)")
        }
    }

    @Test(
        "a device without an answer because the server died asks again and gets the same sequence")
    func diedBeforeAnswer() throws {
        for seed: UInt64 in 0..<40 {
            let scene = try ServerScene(seed: seed)
            scene.probe.process.start()
            scene.run(.seconds(1))
            scene.server.observer = { sight in
                scene.checker.saw(sight)
                guard case .durable = sight, scene.server.process.life == 1 else { return }
                scene.simulation.after(.zero) { scene.server.process.kill() }
            }
            try scene.publish("one")
            scene.run(.seconds(1))
            #expect(scene.sequences("one") == [nil])
            #expect(scene.probe.ids.isEmpty)
            scene.server.process.start()
            try scene.publish("other", "one")
            scene.run(.seconds(10))
            #expect(scene.sequences("one") == [nil, 1])
            #expect(scene.sequences("other") == [2])
            scene.expectComplete("seed \(seed)")
        }
    }

    @Test("retention that overtakes a catch-up is told as gone, and the rest still comes")
    func retention() throws {
        for seed: UInt64 in 0..<40 {
            let scene = try ServerScene(seed: seed) { $0.limits.pageMessages = 2 }
            for number in 0..<30 { try scene.publish("m\(number)") }
            scene.run(.seconds(3))
            scene.probe.process.start()
            while scene.probe.ids.isEmpty { scene.run(.milliseconds(1)) }
            scene.server.trim(RetentionPolicy(count: 5))
            scene.run(.seconds(5))
            let gone = scene.probe.frames.filter { if case .gone = $0 { true } else { false } }
            #expect(!gone.isEmpty && gone.count < 3)
            #expect(scene.probe.ids.count < 30)
            scene.expectComplete("seed \(seed)")
        }
    }

    @Test("after a restore sequences are given again, and a device is told by the epoch")
    func restored() throws {
        let scene = try ServerScene()
        scene.probe.process.start()
        for number in 0..<5 { try scene.publish("m\(number)") }
        scene.run(.seconds(2))
        scene.server.backUp()
        try scene.publish("lost")
        scene.run(.seconds(2))
        #expect(scene.probe.ids.count == 6)
        let former = scene.probe.epoch
        scene.server.restore(outage: .seconds(5))
        scene.run(.seconds(20))
        try scene.publish("new")
        scene.run(.seconds(5))
        #expect(scene.sequences("lost") == [6])
        #expect(scene.sequences("new") == [6])
        #expect(scene.probe.epoch != former)
        scene.expectComplete()
    }

    @Test("a slow reader is demoted, and caught up from the log once it reads again")
    func demotion() throws {
        let scene = try ServerScene {
            $0.limits.unsentBytes = 1_000
            $0.limits.unsentBytesToResume = 250
        }
        scene.probe.process.start()
        scene.run(.seconds(1))
        scene.probe.reads(false)
        for number in 0..<60 { try scene.publish("m\(number)") }
        scene.run(.seconds(5))
        #expect(scene.probe.ids.isEmpty)
        scene.probe.reads(true)
        scene.run(.seconds(5))
        let catchUps = scene.probe.frames.filter {
            if case .subscribed = $0 { true } else { false }
        }
        #expect(catchUps.count > 1)
        scene.expectComplete()
    }
}
