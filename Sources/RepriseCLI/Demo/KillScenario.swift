import Foundation
import RepriseCore
import RepriseWire

/// The scenario `kill`: two devices, ours and the naive one, on the same channel, killed at the
/// same moments.
struct KillScenario: Sendable {
    /// How long the devices have after the last burst.
    private static let timeout = Duration.seconds(30)
    /// How long nothing must have changed before a device is taken to have all that it will ever
    /// get.
    private static let rest = Duration.seconds(2)

    let seed: UInt64
    let messages: Int
    let kills: Int
    let text: DemoText
    let timeline: Timeline

    /// Runs the scenario.
    ///
    /// - Returns: the outcome of every message.
    func play() async throws -> KillReport {
        let stage = try DemoFixture()
        do {
            let report = try await play(on: stage)
            await stage.clear()
            return report
        } catch {
            await stage.clear()
            throw error
        }
    }

    private func play(on stage: DemoFixture) async throws -> KillReport {
        var generator = SeededGenerator(seed: seed)
        let schedule = KillSchedule(messages: messages, deviceKills: kills, using: &generator)
        let traffic = Traffic(text: text)
        var watch = Watch(stage: stage, traffic: traffic, timeline: timeline)
        try await stage.startServer()
        try watch.note("server ready at \(await stage.url)")
        try await stage.startDevices()
        try watch.note("both devices listen; \(Traffic.connections) connections publish")
        let url = await stage.url
        let publishing = Task {
            try await traffic.run(server: url, channel: ChannelName(DemoFixture.channel))
        }
        defer { publishing.cancel() }
        try await bursts(schedule, stage, traffic, &watch)
        traffic.end()
        try await publishing.value
        try watch.note("everything is published and acknowledged")
        try await settle(&watch)
        await stage.endDevices()
        return try watch.report(seed: seed, published: messages, kills: kills)
    }

    private func bursts(
        _ schedule: KillSchedule, _ stage: DemoFixture, _ traffic: Traffic, _ watch: inout Watch
    ) async throws {
        var stored = 0
        var kill = 0
        for burst in schedule.bursts {
            traffic.send(burst.messages)
            switch burst.kill {
            case .devices(let count):
                try await watch.waitUntilOursHasHandled(count)
                kill += 1
                await stage.killDevices()
                try watch.note("SIGKILL to both devices, \(kill) of \(kills)")
                watch.restarted()
                try await stage.startDevices()
            case .server(let count):
                await traffic.wait(for: stored + count)
                await stage.killServer()
                try watch.note("SIGKILL to the server")
                try await stage.startServer()
                try watch.note("the server is back, same port, same data")
                try await stage.devicesListen()
            case nil: break
            }
            stored += burst.messages
            await traffic.wait(for: stored)
            try Task.checkCancellation()
        }
    }

    /// Waits until both devices have everything, or nothing changes any more.
    private func settle(_ watch: inout Watch) async throws {
        let end = ContinuousClock.now + Self.timeout
        var lastChange = ContinuousClock.now
        while ContinuousClock.now < end {
            if try watch.look() { lastChange = .now }
            if watch.isComplete { break }
            if ContinuousClock.now - lastChange > Self.rest, watch.hasOurs { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        try watch.note(watch.disposition)
    }
}
