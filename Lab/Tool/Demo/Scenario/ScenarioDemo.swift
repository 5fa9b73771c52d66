import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// A demo made of scenarios: what a feature adds to ``ScenarioRunner`` and ``ScenarioReport``.
protocol ScenarioDemo: Sendable {
    typealias Run = ScenarioRun<Self>
    typealias Sighting = (label: String, microseconds: Int64)

    associatedtype App
    associatedtype Script: Scenario where Script.Session.Algorithm == App
    /// Phone, server and browser, which scenarios share.
    associatedtype Fixture: Sendable
    /// What was observed of one app in one scenario, beside the phone's log and the ledger.
    associatedtype Observation: Sendable

    static var name: String { get }
    /// One line about it, printed at the beginning.
    static var headline: String { get }
    /// The fixtures of each queue.
    static var fixtures: Int { get }

    /// What has to hold of every run.
    static var expectations: [Expectation<Run>] { get }
    /// Whether this run begins before others, because it waits the most.
    static func isLong(_ scenario: Script, _ app: App) -> Bool

    /// Starts what scenarios share; it ends with the folder.
    static func fixture(in folder: DemoFolder, _ settings: DemoSettings) async throws -> Fixture
    /// Installs an app, in whatever state the scenario begins; each run has another number.
    static func begin(_ scenario: Script, as app: App, on fixture: Fixture, number: Int)
        async throws -> Script.Session
    /// Returns when everything has come to rest.
    static func observe(_ session: Script.Session, of scenario: Script) async throws -> Observation

    // MARK: The report

    /// The heads of the table: of the scenarios' column, and its width.
    static var column: (title: String, width: Int) { get }
    /// The cell of a run; nil: its first fault.
    static func cell(_ result: ScenarioResult<Self>, _ run: Run) -> String
    /// Lines of the table below a scenario.
    static func remarks(_ result: ScenarioResult<Self>) -> [String]
    /// Lines below the table.
    static func sums(_ report: ScenarioReport<Self>, _ terminal: Terminal) -> [String]
    /// The report's sentence if everything held.
    static var verdict: String { get }
    static var explanation: String { get }
    /// The rows in the table of `demo all`.
    static func accounts(_ report: ScenarioReport<Self>) -> [DemoAccount]

    /// The members of a run in the JSON.
    static func json(_ result: ScenarioResult<Self>, _ run: Run) -> ReportObject
    /// The further members of a scenario in the JSON.
    static func json(_ result: ScenarioResult<Self>) -> ReportObject
    /// Whether the report is saved even if no folder is named.
    static var isAlwaysSaved: Bool { get }
    /// Files that are saved with the report.
    static func files(_ run: Run) -> [String: Data]

    // MARK: The timeline

    /// The first of these that happened is where time begins.
    static var beginnings: [String] { get }
    /// The line of an event; nil: none.
    static func label(_ event: PhoneEvent, in run: Run) -> String?
    /// Observations from outside the app, by the clock of the phone's log.
    static func sightings(_ run: Run) -> [Sighting]
    /// Lines below the timeline.
    static func notes(_ run: Run) -> [String]
}

extension ScenarioDemo {
    static var fixtures: Int { 1 }
    static var isAlwaysSaved: Bool { false }
    static func isLong(_ scenario: Script, _ app: App) -> Bool { false }
    static func remarks(_ result: ScenarioResult<Self>) -> [String] { [] }
    static func json(_ result: ScenarioResult<Self>) -> ReportObject { [:] }
    static func files(_ run: Run) -> [String: Data] { [:] }
    static func sightings(_ run: Run) -> [Sighting] { [] }
    static func notes(_ run: Run) -> [String] { [] }
    static func label(_ event: PhoneEvent, in _: Run) -> String? { PhoneLabel.of(event) }

    /// Plays what the settings ask for.
    static func play(_ settings: DemoSettings) async throws -> any DemoReport {
        let names = settings.names
        var settings = settings
        if settings.output == nil, isAlwaysSaved {
            settings.output = FileManager.default.temporaryDirectory.appendingPathComponent(
                "reprise-\(name)-\(EntryID.random().text.prefix(8))")
        }
        return try await ScenarioRunner<Self>(
            scenarios: Script.all(settings).filter { names.isEmpty || names.contains($0.name) },
            apps: settings.isAlone ? [.reprise] : Array(App.allCases), settings: settings
        ).play()
    }

    static func names(_ settings: DemoSettings) -> [String] { Script.all(settings).map(\.name) }

    /// The scenarios, and what is expected of each, for people.
    static func list(_ settings: DemoSettings) -> [String] {
        Script.all(settings).map { $0.name.left(24) + $0.title }
            + ["", "Expected of each, checked from outside the app:"]
            + expectations.map { "  " + $0.sentence }
    }
}

/// What a demo is asked for.
struct DemoSettings: Sendable {
    /// Draws what is random; nil: each demo decides.
    var seed: UInt64?
    /// The scenarios to play; empty: all.
    var names: [String] = []
    /// Whether the original apps do not play.
    var isAlone = false
    /// Whether it has the long numbers.
    var isFull = false
    /// The folder for reports; nil: terminal only.
    var output: URL?
    /// Whether a program reads the output.
    var isQuiet = false

    /// Prints a line, unless a program reads the output.
    func say(_ text: String) throws {
        if !isQuiet { try StandardOutput.write(text) }
    }
}
