import RepriseCommandLine
import RepriseCore
import RepriseWire
import Synchronization

/// Devices that listen to the same channels, are killed at the same moments, and leave what they
/// have handled in files.
actor DeviceSession: ScenarioSession {
    /// A step that takes less than a second, and may take longer on a busy machine.
    static let timeout = Duration.seconds(30)

    let fixture: DemoFixture
    /// One for each channel.
    let traffic: [Traffic]
    let observer: DeviceObserver
    private let channels: [String]
    private let timeline: Timeline
    private var tasks: [Task<Void, Never>] = []
    private var publishing: Task<Void, any Error>?
    private var live: Task<Void, any Error>?
    /// When the devices were started last.
    private(set) var restarted = ContinuousClock.now
    /// From then until a device had everything.
    private var caughtUp: [String: Duration] = [:]
    /// Acknowledged before the server was killed.
    private(set) var beforeKill: Set<EntryID> = []

    init(
        _ fixture: DemoFixture, channels: [String], text: DemoText, observer: DeviceObserver,
        timeline: Timeline
    ) {
        (self.fixture, self.channels, self.observer) = (fixture, channels, observer)
        self.timeline = timeline
        traffic = channels.map { _ in Traffic(text: text) }
    }

    /// Plays steps on a fixture of their own, and removes it.
    static func play<T: Sendable>(
        _ steps: [Step<DeviceSession>], on session: DeviceSession, of title: String,
        _ report: (DeviceSession) async throws -> T
    ) async throws -> T {
        do {
            try await Step.perform(steps, on: session, limit: .seconds(300), of: title)
            let report = try await report(session)
            await session.end()
            return report
        } catch {
            await session.end()
            throw error
        }
    }

    private func end() async {
        live?.cancel()
        publishing?.cancel()
        for task in tasks { task.cancel() }
        await fixture.clear()
    }

    // MARK: What is there

    /// The ids that the server has acknowledged to the publishers.
    var acknowledged: Set<EntryID> { traffic.reduce(into: []) { $0.formUnion($1.acknowledged) } }
    private var stored: Int { traffic.reduce(0) { $0 + $1.count } }

    /// Whether a device has as many messages as were acknowledged.
    func isComplete(_ device: String) throws -> Bool { try observer.count(device) >= stored }

    func areAllComplete() throws -> Bool {
        try observer.devices.allSatisfy { try isComplete($0) }
    }

    /// What became of the messages on a device.
    func evidence(of device: String) throws -> DeviceEvidence {
        let (acknowledged, seen) = (acknowledged, try observer.look(device))
        return DeviceEvidence(
            applied: seen.ids.intersection(acknowledged).count, again: seen.again,
            lost: acknowledged.subtracting(seen.ids).count,
            live: acknowledged.subtracting(beforeKill).intersection(seen.ids).count,
            complete: observer.claim(of: device).map { $0 - restarted },
            caughtUp: caughtUp[device], isFrozen: observer.times(.frozen, device) > 0)
    }

    /// Prints a row of the timeline.
    func note(_ what: String) throws {
        try timeline.row([stored] + observer.devices.map { try observer.count($0) }, what)
    }

    /// Returns when the condition holds.
    ///
    /// - Throws: ``CommandFailure`` at the limit.
    func wait(
        _ what: String, _ limit: Duration = timeout,
        until condition: @Sendable (isolated DeviceSession) throws -> Bool
    ) async throws {
        let start = ContinuousClock.now
        var spoken = start
        while try !condition(self) {
            guard .now - start < limit else {
                throw CommandFailure(.incomplete, "not in time: \(what).")
            }
            if .now - spoken > .seconds(10) {
                spoken = .now
                try note("…")
            }
            try await pause()
        }
    }

    /// The same, but goes on at the limit.
    func wait(
        atMost limit: Duration, until condition: @Sendable (isolated DeviceSession) throws -> Bool
    ) async throws {
        let start = ContinuousClock.now
        while try !condition(self), .now - start < limit { try await pause() }
    }

    /// Returns when no device has got anything for two seconds.
    func rest() async throws {
        var (before, since) = (-1, ContinuousClock.now)
        while .now - since < .seconds(2) {
            let now = try observer.devices.reduce(0) { try $0 + observer.handled($1) }
            if now != before { (before, since) = (now, .now) }
            try await pause()
        }
    }

    private func pause() async throws {
        try await Task.sleep(for: .milliseconds(2))
        for device in observer.devices where caughtUp[device] == nil {
            if try isComplete(device) { caughtUp[device] = .now - restarted }
        }
    }

    // MARK: Actions

    func startServer() async throws {
        try await fixture.startServer()
        guard publishing == nil else { return }
        let (channels, traffic, url) = (self.channels, self.traffic, await fixture.url)
        publishing = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (name, traffic) in zip(channels, traffic) {
                    group.addTask { try await traffic.run(server: url, channel: ChannelName(name)) }
                }
                try await group.waitForAll()
            }
        }
    }

    /// Starts the devices, and lets them connect at the same moment.
    func startDevices() async throws {
        observer.restarted()
        let processes = try await fixture.launchDevices()
        let observer = observer
        tasks += zip(observer.devices, processes).map { name, process in
            Task { await observer.listen(to: process, as: name) }
        }
        try await wait("the devices are there") { session in
            session.observer.devices.allSatisfy { session.observer.times(.ready, $0) > 0 }
        }
        (restarted, caughtUp) = (.now, [:])
        for process in processes { process.say("go") }
    }

    func killDevices() async { await fixture.killDevices() }

    func killServer() async {
        beforeKill = acknowledged
        await fixture.killServer()
    }

    /// Publishes, distributed over the channels.
    func send(_ count: Int) {
        for traffic in traffic { traffic.send(count / self.traffic.count) }
    }

    func isStored() async {
        for traffic in traffic { await traffic.waitForAll() }
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

    /// Everything is published and acknowledged.
    func endLive() async {
        live?.cancel()
        _ = try? await live?.value
        await isStored()
    }

    /// The publishers end.
    func endPublishing() async throws {
        for traffic in traffic { traffic.end() }
        try await publishing?.value
    }
}

extension Step<DeviceSession> {
    static var startServer: Step { Step("startServer") { try await $0.startServer() } }
    static var startDevices: Step { Step("startDevices") { try await $0.startDevices() } }
    /// SIGKILL to all devices, one right after the other.
    static var killDevices: Step { Step("killDevices") { await $0.killDevices() } }
    /// SIGKILL; the server is started again on the same port with the same data.
    static var killServer: Step {
        Step("killServer") { session in
            await session.killServer()
            try await session.note("SIGKILL to the server")
            try await session.startServer()
            try await session.note("the server is back, same port, same data")
        }
    }
    static func send(_ count: Int) -> Step {
        Step("send(\(count))") { await $0.send(count) }
    }
    static var isStored: Step { Step("isStored") { await $0.isStored() } }
    static func note(_ what: String) -> Step { Step("note") { try await $0.note(what) } }
}

/// What became of the messages on one device, by the files outside of any journal.
struct DeviceEvidence: Sendable {
    var applied = 0
    /// Handled a second time.
    var again = 0
    var lost = 0
    /// Of the messages that came after the server was killed.
    var live = 0
    /// From its last start until it said, for the last time, that it has everything.
    var complete: Duration?
    /// From its last start until it had everything.
    var caughtUp: Duration?
    var isFrozen = false

    /// Whether it was right when it said so.
    var wasComplete: Bool { complete != nil && lost == 0 }
}
