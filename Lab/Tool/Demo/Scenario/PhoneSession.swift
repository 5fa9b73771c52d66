import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore
import ReprisePhone
import Synchronization

/// One app on a phone: what all demos do with it, and how they wait.
protocol PhoneSession: ScenarioSession {
    var phone: Phone { get }
    /// The app's name on the phone.
    var id: String { get }
    var isReprise: Bool { get }
    /// The number of the last event before the scenario.
    var since: Int { get }
    /// The reports by which a tap has come to its end.
    static var ends: Set<String> { get }

    /// Returns once the process may be killed.
    func willKill() async throws
    /// The phone's clock was advanced.
    func hasAdvanced(by time: Duration)
}

extension PhoneSession {
    static var ends: Set<String> { [] }
    func willKill() async throws {}
    func hasAdvanced(by time: Duration) {}

    /// The app's data folder.
    var folder: URL { phone.folder.data(of: id) }
    /// The ledger of the app's journal, read from outside.
    func ledger() throws -> LedgerSum { try Reprise.ledger(at: folder) }
    /// The phone's log of this app.
    func log() async throws -> [PhoneEvent] {
        try await phone.log().filter { $0.number > since && ($0.app == id || $0.app == nil) }
    }
    /// How often the phone's log says so.
    func count(_ what: String) async throws -> Int { try await log().count { $0.what == what } }

    // MARK: Waiting; no wait is for a fixed time

    /// Returns when the phone's log has it.
    @discardableResult
    func expect(_ what: PhoneEvent.What) async throws -> PhoneEvent {
        try await phone.expects(.phone(what, app: id), within: .seconds(40))
    }

    /// Returns when the app has reported it.
    @discardableResult
    func expectReport(_ what: String, _ detail: String? = nil) async throws -> PhoneEvent {
        try await phone.expects(.report(what, detail, app: id), within: .seconds(40))
    }

    /// Returns when the condition has come true.
    ///
    /// - Throws: ``CommandFailure`` with the newest events after 40 s.
    func until(_ what: String, _ condition: () async throws -> Bool) async throws {
        guard try await isTrue(within: .seconds(40), condition) else {
            let events = try await log().suffix(60).map { "  \($0.what) \($0.detail)" }
            throw CommandFailure(
                .incomplete, "not in time: \(what).\n" + events.joined(separator: "\n"))
        }
    }

    /// Whether the condition has come true in time.
    @discardableResult
    func isTrue(within limit: Duration, _ condition: () async throws -> Bool) async throws -> Bool {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if try await condition() { return true }
            try await Task.sleep(for: .milliseconds(5))
        }
        return try await condition()
    }

    // MARK: Taps

    func tally() async throws -> TapTally { TapTally(try await log(), ends: Self.ends) }

    /// The app has taken every tap, and has told the system.
    func tapsAreTaken() async throws {
        try await until("its taps are taken") { try await tally().untaken == 0 }
    }

    // MARK: Actions that scenarios share

    func goHome() async throws {
        try await phone.home()
        try await expect(.background)
    }

    func kill() async throws {
        try await willKill()
        try await phone.kill(id)
        try await expect(.terminated)
    }

    func advance(by time: Duration) async throws {
        try await phone.advance(by: time)
        hasAdvanced(by: time)
    }

    /// It becomes this time of day, for the next time.
    func advance(toHour hour: Int, minute: Int = 0, in zone: String? = nil) async throws {
        let status = try await phone.status()
        guard let place = TimeZone(identifier: zone ?? status.zone) else { return }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = place
        let now = Date(status.now)
        let next = calendar.nextDate(
            after: now, matching: DateComponents(hour: hour, minute: minute),
            matchingPolicy: .nextTime)
        try await advance(by: .seconds((next ?? now).timeIntervalSince(now)))
    }

    /// What every run has; the app is removed from the phone.
    func ends<Demo: ScenarioDemo>(
        _ scenario: Demo.Script, as app: Demo.App, _ seen: Demo.Observation
    ) async throws -> ScenarioRun<Demo> {
        let run = ScenarioRun<Demo>(
            scenario: scenario, app: app, log: try await log(),
            ledger: isReprise ? try ledger() : nil, seen: seen)
        try await phone.ask(.uninstall(app: id))
        return run
    }
}

extension Step where Session: PhoneSession {
    /// The person taps the newest notification.
    static var tap: Step { Step("tap") { try await $0.phone.tap(app: $0.id) } }
    /// The person goes to the home screen.
    static var home: Step { Step("home") { try await $0.goHome() } }
    /// SIGKILL.
    static var kill: Step { Step("kill") { try await $0.kill() } }
    /// The person removes the app in the app switcher: SIGKILL, and it does not run until opened.
    static var forceQuit: Step {
        Step("forceQuit") { session in
            try await session.willKill()
            try await session.phone.forceQuit(session.id)
            try await session.expect(.terminated)
        }
    }
    /// SIGSTOP.
    static var suspend: Step {
        Step("suspend") { session in
            try await session.phone.suspend(session.id)
            try await session.expect(.suspended)
        }
    }
    /// SIGCONT.
    static var resume: Step {
        Step("resume") { session in
            try await session.phone.resume(session.id)
            try await session.expect(.resumed)
        }
    }
    /// The app ends itself, in the middle of its work.
    static var dies: Step { Step("dies") { try await $0.expect(.exited) } }
    static var offline: Step { Step("offline") { try await $0.phone.offline() } }
    static var online: Step { Step("online") { try await $0.phone.online() } }
    static func advance(by time: Duration) -> Step {
        Step("advance(by: \(time))") { try await $0.advance(by: time) }
    }
    static func advance(toHour hour: Int) -> Step {
        Step("advance(toHour: \(hour))") { try await $0.advance(toHour: hour) }
    }
}

/// The state of an app's taps, by the phone's log.
struct TapTally: Sendable {
    /// Taps that no app has returned from.
    private(set) var untaken = 0
    /// Taps without an outcome; they die with their process.
    private(set) var open = 0
    /// How often the living process has reported what.
    private(set) var said: [String: Int] = [:]

    /// Counts; `ends` are the reports by which a tap has come to its end.
    init(_ log: [PhoneEvent], ends: Set<String>) {
        for event in log {
            switch event.what {
            case "tapped": untaken += 1
            case "completed": untaken -= 1
            case "terminated", "exited": (open, said) = (0, [:])
            case "app.created": open += 1
            case let what where ends.contains(what): open -= 1
            default: break
            }
            if event.what.hasPrefix("app.") { said[event.what, default: 0] += 1 }
        }
    }
}

/// The phone's log clock for an outside observer: the machine's clock plus the phone's offset.
final class LogClock: Sendable {
    private let machine = SystemTimekeeper()
    private let offset = Mutex(Duration.zero)

    var microseconds: Int64 {
        Int64((machine.uptime() + offset.withLock { $0 }) / .microseconds(1))
    }

    func move(by time: Duration) { offset.withLock { $0 += time } }
}

extension PhoneRules {
    init(launchingTap: LaunchingTap) {
        self.init()
        self.launchingTap = launchingTap
    }
}

extension Date {
    init(_ time: WallTime) {
        self.init(timeIntervalSince1970: Double(time.milliseconds) / 1_000)
    }
}

extension Duration {
    static func days(_ count: Int) -> Duration { .seconds(count * 86_400) }
}
