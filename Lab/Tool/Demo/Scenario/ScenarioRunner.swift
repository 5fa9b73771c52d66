import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// Plays scenarios with Reprise and the case study's original apps, and prints each row of the
/// table as soon as it is complete.
struct ScenarioRunner<Demo: ScenarioDemo>: Sendable {
    let scenarios: [Demo.Script]
    let apps: [Demo.App]
    let settings: DemoSettings

    /// How long one step may take at most.
    private var limit: Duration { settings.isFull ? .seconds(10_800) : .seconds(300) }

    func play() async throws -> ScenarioReport<Demo> {
        let began = ContinuousClock.now
        try settings.say(ScenarioReport<Demo>.head(apps, .output))
        let score = ScenarioScore<Demo>(scenarios, apps) { result in
            let rows = ScenarioReport<Demo>.rows(result, apps, .output)
            try settings.say(rows.joined(separator: "\n"))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for queue in Set(scenarios.map(\.queue)) {
                for _ in 0..<min(Demo.fixtures, await score.waiting(in: queue)) {
                    group.addTask { try await work(through: queue, score) }
                }
            }
            try await group.waitForAll()
        }
        Terminal.error.replaceLine("")
        var report = ScenarioReport<Demo>(
            results: await score.results, apps: apps, took: .now - began)
        if !settings.names.isEmpty {
            for result in report.results {
                try settings.say(ScenarioTimeline(result).text(.output))
            }
        }
        if let output = settings.output { try report.save(in: output) }
        try settings.say(report.foot(.output))
        return report
    }

    private func work(through queue: Int, _ score: ScenarioScore<Demo>) async throws {
        try await withFixture { fixture in
            while let work = await score.next(in: queue) {
                try Task.checkCancellation()
                let scenario = scenarios[work.index]
                Terminal.error.replaceLine(
                    "  \(work.index + 1) of \(scenarios.count): \(scenario.title)")
                let run =
                    scenario.isAlone
                    ? try await withFixture { try await play(work, on: $0) }
                    : try await play(work, on: fixture)
                try await score.note(run, work.index)
            }
        }
    }

    private func withFixture<T: Sendable>(
        _ body: (Demo.Fixture) async throws -> T
    ) async throws -> T {
        try await DemoFolder.with { try await body(Demo.fixture(in: $0, settings)) }
    }

    private func play(_ work: ScenarioScore<Demo>.Work, on fixture: Demo.Fixture) async throws
        -> ScenarioRun<Demo>
    {
        let scenario = scenarios[work.index]
        let session = try await Demo.begin(scenario, as: work.app, on: fixture, number: work.number)
        defer { session.stop() }
        try await Step.perform(
            scenario.steps, on: session, limit: limit, of: "\(scenario.name) (\(work.app.title))")
        let seen = try await Demo.observe(session, of: scenario)
        let run: ScenarioRun<Demo> = try await session.run(of: scenario, seen)
        session.stop()
        try await session.phone.ask(.uninstall(app: session.id))
        return run
    }
}

/// Distributes the runs, and collects the results in their order.
private actor ScenarioScore<Demo: ScenarioDemo> {
    struct Work: Sendable {
        let number: Int
        let index: Int
        let app: Demo.App
    }

    private let apps: [Demo.App]
    private let tell: @Sendable (ScenarioResult<Demo>) throws -> Void
    private var todo: [Work] = []
    private(set) var results: [ScenarioResult<Demo>]
    /// How many scenarios have been told.
    private var told = 0

    init(
        _ scenarios: [Demo.Script], _ apps: [Demo.App],
        tell: @escaping @Sendable (ScenarioResult<Demo>) throws -> Void
    ) {
        (self.apps, self.tell) = (apps, tell)
        results = scenarios.map { ScenarioResult(scenario: $0, runs: []) }
        for (index, scenario) in scenarios.enumerated() {
            for app in apps where scenario.isPlayed(by: app) {
                todo.append(Work(number: todo.count + 1, index: index, app: app))
            }
        }
        let isLong = { (work: Work) in Demo.isLong(scenarios[work.index], work.app) }
        todo = todo.filter(isLong) + todo.filter { !isLong($0) }
    }

    func waiting(in queue: Int) -> Int { todo.count { isMeant($0, queue) } }

    func next(in queue: Int) -> Work? {
        todo.firstIndex { isMeant($0, queue) }.map { todo.remove(at: $0) }
    }

    private func isMeant(_ work: Work, _ queue: Int) -> Bool {
        results[work.index].scenario.queue == queue
    }

    /// Tells all results up to the first that is not complete.
    func note(_ run: ScenarioRun<Demo>, _ index: Int) throws {
        results[index].runs.append(run)
        while told < results.count, isComplete(results[told]) {
            try tell(results[told])
            told += 1
        }
    }

    private func isComplete(_ result: ScenarioResult<Demo>) -> Bool {
        result.runs.count == apps.count(where: result.scenario.isPlayed)
    }
}

/// What was seen of one app in a scenario.
struct ScenarioRun<Demo: ScenarioDemo>: Sendable {
    let scenario: Demo.Script
    let app: Demo.App
    let log: [PhoneEvent]
    /// Of Reprise's journal.
    let ledger: LedgerSum?
    let seen: Demo.Observation

    /// The details of the app's reports of this name.
    func reports(_ what: String) -> [String] {
        log.filter { $0.what == "app." + what }.map(\.detail)
    }
}

/// The results of the apps in one scenario.
struct ScenarioResult<Demo: ScenarioDemo>: Sendable {
    let scenario: Demo.Script
    var runs: [ScenarioRun<Demo>]

    func run(_ app: Demo.App) -> ScenarioRun<Demo>? { runs.first { $0.app == app } }

    /// The violated expectations.
    func faults(_ run: ScenarioRun<Demo>) -> [ScenarioFault] {
        Demo.expectations.flatMap { $0.faults(run) }
    }

    /// Whether Reprise has met every expectation.
    var isKept: Bool { run(.reprise).map { faults($0).isEmpty } ?? false }
}
