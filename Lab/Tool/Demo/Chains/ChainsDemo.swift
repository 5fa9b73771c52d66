import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

extension ChainsAlgorithm: ScenarioApp {}

/// The demo `chains`: real processes, beside the store of the case study `case-task-chain`.
enum ChainsDemo: ScenarioDemo {
    typealias App = ChainsAlgorithm
    typealias Script = ChainsScenario
    typealias Run = ScenarioRun<ChainsDemo>
    typealias Result = ScenarioResult<ChainsDemo>

    /// The phone and the server of files.
    struct Fixture: Sendable {
        let folder: URL
        let phone: Phone
        let server: ChainsServer
        let url: String
        let program: String
    }

    struct Observation: Sendable {
        let effects: [ChainsEffects.Line]
        /// The chains' final states, by their numbers.
        let states: [Int: String]
        /// The bytes written by the processes; nil where the kernel does not count them.
        let written: Int?
        let recorder: ChainsRecorder

        var done: [ChainsEffects.Line] { effects.filter { $0.verb == .done } }
        /// Effects that took place a second time.
        var repeated: Int { done.count - Set(done.map(\.label)).count }
    }

    static let name = "chains"
    static let headline = "case-task-chain, for real: every kill is a SIGKILL of a process."

    static func scenarios(_ settings: DemoSettings) -> [ChainsScenario] {
        ChainsScenario.all(settings)
    }

    // MARK: Expectations

    static let expectations: [Expectation<Run>] = [
        Expectation("what the scenario checks on its way") { run in
            run.app == .reprise ? run.seen.recorder.faults.map { fault("noted", $0) } : []
        },
        Expectation("each chain comes to its end") { run in
            // Deliberately damaged chains are in quarantine: no fault of Reprise.
            (0..<run.scenario.chains).compactMap { chain in
                let state = run.seen.states[chain]
                let due = run.scenario.end(of: chain)
                return state == due
                    ? nil
                    : fault(
                        "lost", "Chain \(chain) is \(state ?? "unknown"), not \(due).")
            }
        },
        Expectation("no more is done again than was in flight at a kill") { run in
            let count = run.seen.repeated
            let most = run.scenario.again
            guard count > most, run.app == .reprise else { return [] }
            return [
                fault("again", "\(count) tasks were done again, at most \(most) may.")
            ]
        },
        Expectation("a task has one key, whatever is killed") { run in
            guard run.app == .reprise else { return [] }
            return Dictionary(grouping: run.seen.done, by: \.label)
                .filter { Set($1.map(\.key)).count > 1 }
                .map { fault("key", "\($0.key) was done with two keys.") }
        },
        Expectation("the effects are those of the plan") { run in
            guard run.app == .reprise else { return [] }
            let scenario = run.scenario
            let plan = ChainsPlan.named(scenario.plan).effects
            let wanted = Set(
                scenario.effects
                    ?? (0..<scenario.chains).flatMap { chain in plan.map { "\(chain).\($0)" } })
            let seen = Set(run.seen.done.map(\.label))
            guard wanted != seen else { return [] }
            return [
                fault(
                    "effects",
                    "\(wanted.subtracting(seen).count) effects are missing, "
                        + "\(seen.subtracting(wanted).count) should not be there.")
            ]
        },
        .ledger("each chain is in the ledger") { scenario, ledger in
            ledger.isBalanced && ledger.pending == scenario.waiting
        },
    ]

    private static func fault(_ sort: String, _ sentence: String) -> ScenarioFault {
        ScenarioFault(sort, sort, sentence)
    }

    // MARK: Playing

    static func withFixture<T: Sendable>(
        _ settings: DemoSettings, _ body: (Fixture) async throws -> T
    ) async throws -> T {
        try await DemoFolder.with { folder in
            let server = ChainsServer(bytes: ChainsScenario.downloadBytes(settings))
            return try await server.run { url in
                try await folder.withPhone { phone in
                    try await body(
                        Fixture(
                            folder: folder.url, phone: phone, server: server, url: url,
                            program: folder.program.path))
                }
            }
        }
    }

    static func begin(
        _ scenario: ChainsScenario, as algorithm: App, on fixture: Fixture, number: Int
    ) async throws -> ChainsSession {
        let place = fixture.folder.appendingPathComponent("\(number)")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let file = place.appendingPathComponent("effects")
        let phone = fixture.phone
        var app = PhoneAppSpec(
            id: "p\(number)-\(scenario.name)", executable: fixture.program,
            arguments: [
                "app", "chains", "--as", algorithm.rawValue, "--plan", scenario.plan, "--chains",
                "\(scenario.chains)", "--effects", file.path, "--server", fixture.url,
            ])
        app.backgroundTasks = [ChainsSession.slotID]
        let since = try await phone.status().lastEvent
        var rules = PhoneRules()
        rules.backgroundSeconds = scenario.backgroundSeconds
        try await phone.ask(.rules(rules))
        try await phone.install(app)
        fixture.server.reset()
        let checker = ChainsDemoChecker(file)
        let meter = ChainsMeter(checker)
        return ChainsSession(
            phone: phone, app: app, algorithm: algorithm, chains: scenario.chains,
            checker: checker, server: fixture.server, meter: meter,
            metering: Task { await meter.watch() },
            disk: scenario.isOnSmallDisk ? SmallDisk(at: phone.folder.data(of: app.id)) : nil,
            since: since)
    }

    static func end(_ session: ChainsSession, of scenario: ChainsScenario, on fixture: Fixture)
        async throws -> Run
    {
        await session.meter.look()
        var states = try await session.states().mapValues(\.state)
        for (number, state) in session.recorder.states { states[number] = state }
        let run = Run(
            scenario: scenario, app: session.algorithm, log: try await session.log(),
            ledger: session.isReprise ? try session.ledger() : nil,
            seen: Observation(
                effects: session.effects, states: states, written: await session.meter.bytes,
                recorder: session.recorder))
        session.disk?.unmount()
        try await session.phone.ask(.uninstall(app: session.id))
        return run
    }

    // MARK: The report

    static let column = (title: "what was done again, lost, written", width: 34)

    static func cell(_ result: Result, _ run: Run) -> String {
        let again = (run.seen.recorder.again ?? "\(run.seen.repeated)").right(6)
        return again + "\(lost(result, run))".right(6)
            + (written(result, run).map(size) ?? "–").right(9)
    }

    static func remarks(_ result: Result) -> [String] {
        (result.run(.reprise)?.seen.recorder.remarks ?? []).map { "  " + $0 }
    }

    private static func size(_ bytes: Int) -> String {
        bytes < 10_000_000
            ? "\((bytes + 500) / 1_000) kB" : "\((bytes + 500_000) / 1_000_000) MB"
    }

    /// Chains that have not come to their end, and those in quarantine.
    private static func lost(_ result: Result, _ run: Run) -> Int {
        (0..<result.scenario.chains).count { chain in
            let state = run.seen.states[chain]
            return state != result.scenario.end(of: chain) || state == "quarantined"
        }
    }

    /// The bytes written, without the tasks' own files.
    private static func written(_ result: Result, _ run: Run) -> Int? {
        guard let files = result.scenario.fileBytes, let written = run.seen.written else {
            return nil
        }
        return max(0, written - files)
    }

    static func sums(_ report: ScenarioReport<ChainsDemo>, _ terminal: Terminal) -> [String] { [] }

    static let verdict = "Every chain came to its end; nothing with an outcome was done again."
    static let explanation = """
        again    effects that took place a second time, by a file outside the journal.
                 What was in flight at a kill may be among them: at least once, with the
                 same key. (download: what was fetched again)
        lost     chains that did not come to their end; those that Reprise counts are
                 the damaged ones, in quarantine, where `reprise chains` shows them.
        written  by the app's processes, as the kernel counts it, without files that
                 tasks made. The original store is kinder than in the case study:
                 without tasks' settings. Reprise's begins with the tables of its
                 journal, 0.7 MB.
        –        the case study does not cover it, or it cannot be told apart.

        A step of the case study's test takes 0.4 s here, not 5 s.
        \(disk)
        """

    private static let disk =
        SmallDisk.isPossible
        ? "The full disk is a small one in memory, with nothing but the app's data on it."
        : """
        The full disk is the journal's own bound of pages, and the original store does
        not play it: only root may mount a small disk, on Linux.
        """

    static func accounts(_ report: ScenarioReport<ChainsDemo>) -> [DemoAccount] {
        /// Deliberately damaged chains do not count as lost: they are in quarantine.
        func lost(_ app: App) -> String? {
            report.sum(app) { result, run in
                (0..<result.scenario.chains).count {
                    run.seen.states[$0] != result.scenario.end(of: $0)
                }
            }.map { "\($0) lost" }
        }
        return [
            DemoAccount(
                feature: "chains", promise: "each chain comes to its end",
                before: lost(.singleValue), repaired: nil, reprise: lost(.reprise) ?? "–",
                kept: report.hasPassed)
        ]
    }

    static func json(_ result: Result, _ run: Run) -> ReportObject {
        [
            "effects": run.seen.done.count, "again": run.seen.repeated,
            "lost": lost(result, run), "written": written(result, run),
            "states": run.seen.states.values.reduce(into: [String: Int]()) {
                $0[$1, default: 0] += 1
            },
            "notes": run.seen.recorder.remarks,
        ]
    }

    static func json(_ result: Result) -> ReportObject {
        let faults = result.run(.reprise).map { result.faults($0).map(\.sentence) }
        return ["faults": faults ?? ["Reprise has not played."]]
    }

    /// The file of effects, a line for each that took place.
    static func files(_ run: Run) -> [String: Data] {
        let lines = run.seen.effects.map {
            "\($0.verb.rawValue) \($0.key) \($0.attempt) \($0.label) \($0.microseconds)\n"
        }
        return ["\(run.scenario.name).\(run.app.rawValue).txt": Data(lines.joined().utf8)]
    }

    // MARK: The timeline

    static let beginnings = ["launched"]

    static func sightings(_ run: Run) -> [(label: String, microseconds: Int64)] {
        var counts: [String: Int] = [:]
        return run.seen.effects.compactMap { line in
            switch line.verb {
            case .life: return nil
            case .began: return ("begins  \(line.label)", line.microseconds)
            case .failed: return ("FAILS   \(line.label)", line.microseconds)
            case .known: return ("knows its key: \(line.label)", line.microseconds)
            case .done:
                counts[line.label, default: 0] += 1
                let again = counts[line.label] == 1 ? "" : "  AGAIN"
                return ("EFFECT  \(line.label)\(again)", line.microseconds)
            }
        }
    }

    static func label(_ event: PhoneEvent) -> String? {
        switch event.what {
        case "notLaunched": "the phone does not: \(event.detail)"
        case "background": "in the background"
        case "submitted": "asks for time in the background"
        case "taskBegan": "a slot begins"
        case "taskExpired": "its time is over"
        case "taskCompleted": "the slot is given back: \(event.detail)"
        case "transferRuns": "the phone fetches the file"
        case "transferEnded": "the phone has it"
        case "app.started": "the chains are there"
        case "app.chain": "chain \(event.detail)"
        case "app.full": "there is no room: \(event.detail)"
        case "app.stopped": "the app stops: \(event.detail)"
        case "app.process", "app.journal", "exited", "completed": nil
        default: PhoneLabel.of(event)
        }
    }
}
