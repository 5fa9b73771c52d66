import Foundation
import RepriseChannels
import RepriseCore
import RepriseSimulator
import RepriseWire
import Testing

@Suite("A device in virtual time")
struct DeviceRunTests {
    private func complete(_ stage: DeviceFixture, after: Duration = .seconds(600)) throws {
        stage.simulation.run(until: stage.simulation.now + after)
        let findings = try stage.findings()
        #expect(findings.isEmpty)
    }

    @Test("catches up, goes live, and every kind of reader takes effect once")
    func catchUp() throws {
        let stage = try DeviceFixture()
        try stage.publish(120)
        try complete(stage)
        #expect(stage.devices[0].state(of: stage.peer.channel) == .live)
    }

    @Test("an app's publishes are recorded, sent once, and acknowledged")
    func publishes() throws {
        let stage = try DeviceFixture()
        for index in 0..<20 { try stage.send("p\(index)", from: stage.devices[0]) }
        try complete(stage)
        #expect(stage.recorded.count == 20 && stage.acknowledged.count == 20)
        #expect(stage.peer.messages.map(\.id.text) == (0..<20).map { "p\($0)" })
        #expect(stage.peer.published.values.allSatisfy { $0 == 1 })
    }

    @Test(
        "a kill between a commit and its callback loses nothing and repeats only what may be",
        arguments: 1...30)
    func killAfterCommit(_ number: Int) throws {
        let stage = try DeviceFixture()
        try stage.publish(60)
        var commits = 0
        stage.devices[0].committed = { device in
            commits += 1
            if commits == number { stage.kill(device, for: .seconds(1)) }
        }
        try complete(stage)
    }

    @Test("after a failed commit it goes back to the disk and asks with what that has")
    func failedCommit() throws {
        let stage = try DeviceFixture()
        try stage.publish(30)
        stage.simulation.run(until: .seconds(10))
        stage.disks[0].fill(for: .seconds(20))
        try stage.publish(30, prefix: "n")
        stage.simulation.run(until: .seconds(20))
        guard case .stuck(let error) = stage.devices[0].connection else {
            Issue.record("it is \(stage.devices[0].connection)")
            return
        }
        #expect(error.code == .diskFull)
        try complete(stage)
        #expect(stage.peer.requests.last == Coverage(through: 30))
    }

    @Test("a hole in live traffic is asked for exactly")
    func hole() throws {
        let stage = try DeviceFixture()
        try stage.publish(10)
        stage.simulation.run(until: .seconds(10))
        stage.peer.skips = [12]
        try stage.publish(4, prefix: "n")
        try complete(stage)
        #expect(stage.peer.requests.count == 2)
        #expect(stage.peer.requests.last?.contains(12) == false)
        #expect(stage.peer.requests.last?.watermark == 11)
    }

    @Test("a connection that is half open is given up after two heartbeats and five seconds")
    func halfOpen() throws {
        let stage = try DeviceFixture()
        try stage.publish(10)
        stage.simulation.run(until: .seconds(10))
        stage.network.inflict(Fault(.halfOpen, at: .zero), on: stage.devices[0].process)
        try stage.publish(10, prefix: "n")
        stage.simulation.run(until: .seconds(50))
        #expect(stage.peer.connections == 1)
        stage.simulation.run(until: .seconds(80))
        #expect(stage.peer.connections == 2)
        try complete(stage)
    }

    @Test("a new epoch begins a new log; what is there already is recognised by its id")
    func epoch() throws {
        let stage = try DeviceFixture()
        try stage.publish(10)
        stage.simulation.run(until: .seconds(10))
        stage.peer.restore()
        try stage.publish(5, prefix: "n")
        try complete(stage)
        let contents = try #require(try stage.devices[0].contents(of: stage.peer.channel))
        #expect(contents.messages.count == 15)
        #expect(contents.losses.map(\.reason) == ["epoch"])
    }

    @Test("the same seed is the same run")
    func deterministic() throws {
        let traces = try (0..<2).map { _ in
            let stage = try DeviceTrial.stage(seed: 7, isTracing: true)
            try stage.play()
            return stage.simulation.lines
        }
        #expect(traces[0] == traces[1])
        #expect(traces[0].count > 100)
    }
}

/// Runs with drawn faults.
enum DeviceTrial {
    static let kinds: [(kind: Fault.Kind, weight: Int)] = [
        (.killDevice, 4), (.powerLossDevice, 2), (.suspend, 1), (.diskFull, 2), (.syncFails, 2),
        (.cut, 2), (.halfOpen, 1), (.partition, 1), (.delay, 1), (.slow, 1), (.reorder, 1),
        (.drop, 2), (.duplicate, 1), (.retention, 1), (.newEpoch, 1), (.clockJump, 1),
    ]

    static func stage(
        seed: UInt64, mutation: Mutation? = nil, isTracing: Bool = false, folder: URL? = nil
    ) throws -> DeviceFixture {
        let schedule = FaultSchedule.draw(seed: seed, kinds: kinds)
        return try DeviceFixture(
            seed: seed, devices: schedule.devices, faults: schedule.faults,
            length: schedule.length, mutation: mutation, isTracing: isTracing, comparedIn: folder)
    }

    /// The first seed whose run breaks something, and what.
    static func detection(of mutation: Mutation?, seeds: Range<UInt64>) throws
        -> (seed: UInt64, findings: [String])?
    {
        for seed in seeds {
            let stage = try stage(seed: seed, mutation: mutation)
            try stage.play()
            let findings = try stage.findings()
            if !findings.isEmpty { return (seed, findings) }
        }
        return nil
    }
}

@Suite("Devices under drawn faults")
struct DeviceTrialTests {
    @Test("an honest device breaks nothing")
    func honest() throws {
        let found = try DeviceTrial.detection(of: nil, seeds: 80..<110)
        #expect(found == nil, "seed \(found?.seed ?? 0): \(found?.findings ?? [])")
    }

    @Test(
        "each wrong driver is detected",
        arguments: [
            Mutation.keepMemoryAfterFailedCommit, .widenPrev, .silenceCompletes,
            .subscribeFromHighest, .coverageApart, .storeDuplicates, .ignoreEpoch,
            .liveBeforeDurable, .lossesForgotten, .cursorBeforeEffect, .dispatchUnmarked,
            .effectApart, .outboxNewID, .outboxEndsWhenSent,
        ])
    func detected(_ mutation: Mutation) throws {
        let found = try DeviceTrial.detection(of: mutation, seeds: 0..<400)
        #expect(found != nil)
    }

    @Test(
        "the model of the store and the shipping SQL agree, transaction by transaction, under kills"
    )
    func agreement() throws {
        for seed: UInt64 in 0..<1 {
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("reprise-agreement-\(EntryID.random().text)")
            defer { try? FileManager.default.removeItem(at: folder) }
            let stage = try DeviceTrial.stage(seed: seed, folder: folder)
            try stage.play()
            #expect(try stage.findings() == [], "seed \(seed)")
        }
    }
}
