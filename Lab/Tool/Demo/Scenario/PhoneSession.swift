import Foundation
import Reprise
import RepriseCommandLine
import RepriseCore
import ReprisePhone
import RepriseTesting

/// One app on a phone: what all demos do with it, and how they wait.
protocol PhoneSession: Sendable {
    associatedtype Algorithm: ScenarioApp

    var app: PlayedApp<Algorithm> { get }
    /// The reports by which a tap has come to its end.
    static var ends: Set<String> { get }

    /// The person opens the app, which does not run; returns when it is there.
    func launch() async throws
    /// Returns when everything has come to its end.
    func settle() async throws
    /// Returns once the process may be killed.
    func willKill() async throws
    /// Ends what observes the app; does nothing a second time.
    func stop()
}

extension PhoneSession {
    static var ends: Set<String> { [] }
    func settle() async throws {}
    func willKill() async throws {}
    func stop() {}

    var phone: Phone { app.phone }
    var id: String { app.id }
    var isReprise: Bool { app.algorithm == .reprise }
    /// The app's data folder.
    var folder: URL { phone.folder.data(of: id) }
    /// The ledger of the app's journal, read from outside.
    func ledger() throws -> LedgerSum { try AccountClient.ledger(at: folder) }
    /// The phone's log of this app.
    func log() async throws -> [PhoneEvent] {
        try await phone.log().filter {
            $0.number > app.since && ($0.app == id || $0.app == nil)
        }
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
        guard try await Waiting.isTrue(within: .seconds(40), condition) else {
            let events = try await log().suffix(60).map { "  \($0.what) \($0.detail)" }
            throw CommandFailure(
                .incomplete, "not in time: \(what).\n" + events.joined(separator: "\n"))
        }
    }

    // MARK: Taps

    func tally() async throws -> TapTally { TapTally(try await log(), ends: Self.ends) }

    /// The app has taken every tap, and has told the system: a kill loses the app's state alone,
    /// not the system's.
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
        app.clock.move(by: time)
    }

    /// It becomes this time of day, for the next time.
    func advance(toHour hour: Int, minute: Int, in zone: String?) async throws {
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

    /// What every run has so far.
    func run<Demo: ScenarioDemo>(
        of scenario: Demo.Script, _ seen: Demo.Observation
    ) async throws -> ScenarioRun<Demo> where Demo.App == Algorithm {
        ScenarioRun(
            scenario: scenario, app: app.algorithm, log: try await log(),
            ledger: isReprise ? try ledger() : nil, seen: seen)
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

extension Duration {
    static func days(_ count: Int) -> Duration { .seconds(count * 86_400) }
}
