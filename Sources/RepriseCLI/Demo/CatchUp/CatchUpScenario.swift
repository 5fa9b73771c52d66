import Foundation
import RepriseCore
import RepriseWire

/// The scenario `catch-up`: "How to Test" of `case-catch-up`, step by step, with four devices at
/// once.
struct CatchUpScenario: Sendable {
    /// "Bulk events should arrive (100-200)".
    static let backlog = 200
    static let channels = ["north", "east", "south", "west"]
    /// How long the repaired client waits at most, and a bit (`catchUpTimeout`, looked at every 2
    /// s).
    private static let longestCatchUp = Duration.seconds(66)
    /// A step that takes less than a second, and may take longer on a busy machine.
    private static let timeout = Duration.seconds(30)

    let seed: UInt64
    /// The speed-up of the original clients' clocks.
    let speed: Double
    let text: DemoText
    let timeline: Timeline

    /// Runs the scenario.
    ///
    /// - Returns: the outcome of every message.
    func play() async throws -> CatchUpReport {
        let scenario = self
        let stage = try DemoFixture { url, folder in
            CatchUpDevice.allCases.map { role in
                ["catch-up-device"] + Self.channels
                    + [
                        "--server", url, "--folder", folder.path, "--role", role.rawValue,
                        "--seed", String(scenario.seed), "--speed", String(scenario.speed),
                    ]
            }
        }
        do {
            let report = try await play(on: stage)
            await stage.clear()
            return report
        } catch {
            await stage.clear()
            throw error
        }
    }

    private func play(on stage: DemoFixture) async throws -> CatchUpReport {
        try await stage.startServer()
        let url = await stage.url
        let traffic = Self.channels.map { _ in Traffic(text: text) }
        return try await withThrowingTaskGroup(of: Void.self) { publishers in
            for (name, traffic) in zip(Self.channels, traffic) {
                publishers.addTask {
                    try await traffic.run(server: url, channel: ChannelName(name))
                }
            }
            let report = try await steps(on: stage, traffic)
            publishers.cancelAll()
            return report
        }
    }

    private func steps(on stage: DemoFixture, _ traffic: [Traffic]) async throws -> CatchUpReport {
        let watch = CatchUpWatch(channels: Self.channels, at: stage.folder)
        var play = CatchUpRunner(traffic: traffic, watch: watch, timeline: timeline)
        var listening = try await start(stage, &play)
        defer { listening.forEach { $0.cancel() } }
        for partitionKey in traffic { partitionKey.send(1) }
        try await play.wait("all have the first event", Self.timeout) {
            try play.allHaveAll() && watch.claim(of: .reprise) != nil
        }
        try play.note("subscribed to \(Self.channels.count) channels; first event")

        await stage.killDevices()
        try play.note("SIGKILL to all devices: they are away")
        for partitionKey in traffic { partitionKey.send(Self.backlog / traffic.count) }
        for partitionKey in traffic {
            await partitionKey.wait(for: 1 + Self.backlog / traffic.count)
        }
        try play.note("\(Self.backlog) events meanwhile")

        listening = try await start(stage, &play)
        let live = Task { try await goLive(traffic) }
        defer { live.cancel() }
        try play.note("the devices are back; live events from now on")
        try await play.wait("a part of the backlog", Self.timeout) {
            try play.least() >= Self.channels.count + Self.backlog / 4
        }
        try play.note("each has a quarter of the backlog, or more")
        play.beforeKill = play.acknowledged
        await stage.killServer()
        try play.note("SIGKILL to the server")
        try await stage.startServer()
        try play.note("the server is back, same port, same data")
        try await settle(&play, live)
        return try play.report(seed: seed, speed: speed)
    }

    /// Starts the devices, and lets them connect at the same moment.
    private func start(_ stage: DemoFixture, _ play: inout CatchUpRunner) async throws
        -> [Task<Void, Never>]
    {
        let watch = play.watch
        watch.forget()
        let devices = try await stage.launchDevices()
        let listening = zip(CatchUpDevice.allCases, devices).map { role, device in
            Task { await watch.listen(to: device, as: role) }
        }
        try await play.wait("the devices are there", Self.timeout) { watch.areReady }
        play.returned = .now
        for device in devices { device.say("go") }
        return listening
    }

    /// Publishes without pause, 12 events a second in each channel.
    private func goLive(_ traffic: [Traffic]) async throws {
        while !Task.isCancelled {
            for partitionKey in traffic {
                partitionKey.send(1)
                try await Task.sleep(for: .milliseconds(80) / traffic.count)
            }
        }
    }

    /// Waits until everybody who will ever say so has said that it has everything.
    private func settle(_ play: inout CatchUpRunner, _ live: Task<Void, any Error>) async throws {
        let watch = play.watch
        try await play.wait("reprise is complete", Self.timeout) {
            watch.claim(of: .reprise) != nil && watch.claim(of: .signalled) != nil
        }
        try play.note("reprise and the signalled client say: complete")
        let longest = Self.longestCatchUp / speed + Self.timeout
        try await play.wait("the repaired client ends its catch-up", longest, speaking: true) {
            watch.claim(of: .repaired) != nil
        }
        try play.note("the repaired client says: complete, by its timer")
        live.cancel()
        _ = try? await live.value
        for partitionKey in play.traffic { await partitionKey.waitForAll() }
        try play.note("no more live events")
        try await play.wait("reprise has everything", Self.timeout) { try play.has(.reprise) }
        // Messages that the others lack two seconds after the last event never arrive.
        try await Task.sleep(for: .seconds(2))
        for partitionKey in play.traffic { partitionKey.end() }
        try play.note("the end")
    }
}
