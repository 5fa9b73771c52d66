import Foundation
import RepriseCommandLine
import RepriseCore
import RepriseTesting
import RepriseWire

/// Devices that listen to the same channels, are killed at the same moments, and leave what they
/// have handled in files.
actor DeviceSession {
    /// A step that takes less than a second, and may take longer on a busy machine.
    static let timeout = Duration.seconds(60)

    /// One of them, in whichever process.
    struct Device {
        let role: DemoDeviceRole
        /// What it has handled, by channel.
        var logs: [EffectLog]
        var process: DemoProcess?
        /// How often it has said what since its start.
        var said: [DeviceWord: Int] = [:]
        /// When it said last that it has everything; nil since it has asked again.
        var claim: ContinuousClock.Instant?
        /// The lines in its files at its start.
        var linesBefore = 0
        /// From its start until it had everything.
        var caughtUp: Duration?

        /// How many messages it has handled so far.
        var count: Int { logs.reduce(0) { $0 + $1.ids.count } }
        var lines: Int { logs.reduce(0) { $0 + $1.lines } }
        /// The same since its start, repetitions among them.
        var handled: Int { lines - linesBefore }
    }

    let folder: URL
    private(set) var devices: [Device]
    private let server: DemoServer
    private let url: String
    private let channels: [String]
    private let options: [String]
    /// One for each channel.
    private let traffic: [Traffic]
    let timeline: Timeline
    private var publishing: Task<Void, any Error>?
    private var live: Task<Void, any Error>?
    private var starts = 0
    /// When the devices were started last.
    private var restarted = ContinuousClock.now
    /// Acknowledged before the server was killed.
    private(set) var beforeKill: Set<EntryID> = []

    private init(
        in folder: URL, _ server: DemoServer, _ roles: [DemoDeviceRole], channels: [String],
        options: [String], _ timeline: Timeline
    ) async {
        (self.folder, self.server, self.options) = (folder, server, options)
        (self.channels, self.timeline) = (channels, timeline)
        url = await server.url
        traffic = channels.map { Traffic($0) }
        devices = roles.map { role in
            Device(role: role, logs: channels.map { EffectLog(role.effects(of: $0, in: folder)) })
        }
    }

    /// Plays steps with a server and a folder of their own, calls `report`, and removes them.
    ///
    /// The title is in the first line, and in the message about a step that gets stuck; the
    /// options are those of every device.
    static func play<T: Sendable>(
        _ steps: [Step<DeviceSession>], of title: String, _ headline: String,
        with roles: [DemoDeviceRole], channels: [String], options: [String] = [],
        columns: [(String, Int)], settings: DemoSettings,
        _ report: (DeviceSession) async throws -> T
    ) async throws -> T {
        let timeline = Timeline(settings, columns)
        try timeline.title(["Reprise demo: \(title)", headline])
        return try await DemoFolder.with { folder in
            let session = await DeviceSession(
                in: folder.url, try await folder.server(), roles, channels: channels,
                options: options, timeline)
            folder.atEnd { await session.end() }
            try await Step.perform(steps, on: session, limit: .seconds(300), of: title)
            return try await report(session)
        }
    }

    private func end() async {
        live?.cancel()
        publishing?.cancel()
        await killDevices()
    }

    // MARK: What is there

    /// The ids that the server has acknowledged to the publishers.
    var acknowledged: Set<EntryID> { traffic.reduce(into: []) { $0.formUnion($1.acknowledged) } }
    /// How many they are.
    var stored: Int { traffic.reduce(0) { $0 + $1.count } }
    /// How many a second were stored, by the median of the first channel's bursts.
    var medianRate: Int { traffic[0].medianRate }
    var isEverythingStored: Bool { traffic.allSatisfy(\.isEverythingStored) }
    var areAllComplete: Bool { devices.allSatisfy { isComplete($0.role) } }

    func device(_ role: DemoDeviceRole) -> Device? { devices.first { $0.role == role } }

    /// Whether a device has as many messages as were acknowledged.
    func isComplete(_ role: DemoDeviceRole) -> Bool {
        device(role).map { $0.count >= stored } ?? false
    }

    /// Whether a device has all that was acknowledged after the server was killed.
    func hasLive(_ role: DemoDeviceRole) -> Bool {
        let ids = device(role)?.logs.reduce(into: Set<EntryID>()) { $0.formUnion($1.ids) } ?? []
        return acknowledged.subtracting(beforeKill).isSubset(of: ids)
    }

    /// What became of the messages on the devices.
    func evidence() throws -> [DemoDeviceRole: DeviceEvidence] {
        try look()
        let acknowledged = acknowledged
        let evidence = devices.map { device in
            let ids = device.logs.reduce(into: Set<EntryID>()) { $0.formUnion($1.ids) }
            return (
                device.role,
                DeviceEvidence(
                    applied: ids.intersection(acknowledged).count,
                    again: device.logs.reduce(0) { $0 + $1.repeated },
                    lost: acknowledged.subtracting(ids).count,
                    live: acknowledged.subtracting(beforeKill).intersection(ids).count,
                    complete: device.claim.map { $0 - restarted }, caughtUp: device.caughtUp,
                    isFrozen: device.said[.frozen] != nil)
            )
        }
        return Dictionary(uniqueKeysWithValues: evidence)
    }

    /// Prints a row of the timeline.
    func note(_ what: String) throws {
        try look()
        try timeline.row([stored] + devices.map(\.count), what)
    }

    /// Reads what the devices have written since.
    private func look() throws {
        for index in devices.indices {
            for log in devices[index].logs.indices { try devices[index].logs[log].update() }
            if devices[index].caughtUp == nil, isComplete(devices[index].role) {
                devices[index].caughtUp = .now - restarted
            }
        }
    }

    // MARK: Waiting

    /// Whether a condition comes true in time; now and then, a row says that it has not yet.
    @discardableResult
    func isTrue(
        within limit: Duration, _ condition: @Sendable (isolated DeviceSession) -> Bool
    ) async throws -> Bool {
        var spoken = ContinuousClock.now
        return try await Waiting.isTrue(within: limit) {
            try look()
            if .now - spoken > .seconds(10) {
                spoken = .now
                try note("…")
            }
            return condition(self)
        }
    }

    /// Returns when no device has got anything for two seconds.
    func rest() async throws {
        var (before, since) = (-1, ContinuousClock.now)
        while .now - since < .seconds(2) {
            try look()
            let now = devices.reduce(0) { $0 + $1.lines }
            if now != before { (before, since) = (now, .now) }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    // MARK: Actions

    /// Starts the devices, and lets them connect at the same moment.
    func startDevices() async throws {
        try look()
        starts += 1
        for index in devices.indices {
            let role = devices[index].role
            let process = try DemoProcess(
                .lab,
                ["device"] + channels + options
                    + ["--server", url, "--folder", folder.path, "--role", role.rawValue],
                log: folder.appendingPathComponent("\(role)-\(starts).log"))
            devices[index].process = process
            (devices[index].said, devices[index].claim) = ([:], nil)
            devices[index].linesBefore = devices[index].lines
            Task { await listen(to: process, at: index) }
        }
        let areThere = try await isTrue(within: Self.timeout) { session in
            session.devices.allSatisfy { $0.said[.ready] != nil }
        }
        guard areThere else { throw CommandFailure(.incomplete, "The devices do not start.") }
        restarted = .now
        for index in devices.indices {
            devices[index].caughtUp = nil
            devices[index].process?.say("go")
        }
    }

    /// Listens to a device until it ends.
    private func listen(to process: DemoProcess, at index: Int) async {
        while let line = try? await process.line(within: .seconds(3_600)) {
            guard devices[index].process === process, let word = DeviceWord(rawValue: line) else {
                continue
            }
            devices[index].said[word, default: 0] += 1
            devices[index].claim = word == .complete ? .now : nil
        }
    }

    /// SIGKILL to all devices, one right after the other.
    func killDevices() async {
        await withTaskGroup(of: Void.self) { group in
            for device in devices { group.addTask { await device.process?.kill() } }
        }
    }

    /// Ends the devices, so that the journal has no owner.
    func endDevices() async {
        for device in devices { await device.process?.terminate() }
    }

    /// SIGKILL; the server is started again on the same port with the same data.
    func killServer() async throws {
        beforeKill = acknowledged
        await server.kill()
        try note("SIGKILL to the server")
        try await server.start()
        try note("the server is back, same port, same data")
    }

    /// Publishes, distributed over the channels.
    func send(_ count: Int) {
        if publishing == nil {
            publishing = Task { [traffic, url] in
                try await untilAllEnd(traffic) { try await $0.run(server: url) }
            }
        }
        for traffic in traffic { traffic.send(count / self.traffic.count) }
    }

    /// Publishes without pause, 12 events a second in each channel.
    func goLive() {
        let traffic = self.traffic
        let pause = Duration.milliseconds(80) / traffic.count
        live = Task {
            while !Task.isCancelled {
                for traffic in traffic {
                    traffic.send(1)
                    try await Task.sleep(for: pause)
                }
            }
        }
    }

    func endLive() async {
        live?.cancel()
        _ = try? await live?.value
    }

    /// The publishers end.
    func endPublishing() async throws {
        for traffic in traffic { traffic.end() }
        try await publishing?.value
    }
}
