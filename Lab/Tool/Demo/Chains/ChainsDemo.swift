import Foundation
import RepriseCommandLine
import RepriseCore
import ReprisePhone

/// The demo `chains`: real processes, beside the store of the case study `case-task-chain`.
enum ChainsDemo: ScenarioDemo {
    typealias App = ChainsAlgorithm
    typealias Script = ChainsScenario
    typealias Result = ScenarioResult<ChainsDemo>

    struct Observation: Sendable {
        let effects: [ChainsEffects.Line]
        /// The chains' final states, by their numbers.
        let states: [Int: String]
        /// The bytes written by the processes; nil where the kernel does not count them.
        let written: Int?
        let notes: ChainsNotes

        var done: [ChainsEffects.Line] { effects.filter { $0.verb == .done } }
        /// Effects that took place a second time.
        var repeated: Int { done.count - Set(done.map(\.label)).count }
    }

    static let name = "chains"
    static let headline = "case-task-chain, for real: every kill is a SIGKILL of a process."

    // MARK: Expectations

    static let expectations: [Expectation<Run>] = [
        Expectation("what the scenario checks on its way") { run in
            run.app == .reprise ? run.seen.notes.faults.map { fault("noted", $0) } : []
        },
        Expectation("each chain comes to its end") { run in
            // Deliberately damaged chains are in quarantine: no fault of Reprise.
            (0..<run.scenario.chains).compactMap { chain in
                let state = run.seen.states[chain]
                let due = run.scenario.end(of: chain)
                return state == due
                    ? nil
                    : fault("lost", "Chain \(chain) is \(state ?? "unknown"), not \(due).")
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

    // MARK: The report

    static let column = (title: "what was done again, lost, written", width: 34)

    static func cell(_ result: Result, _ run: Run) -> String {
        let again = (run.seen.notes.again ?? "\(run.seen.repeated)").right(6)
        return again + "\(lost(run))".right(6)
            + (written(run).map(size) ?? "–").right(9)
    }

    static func remarks(_ result: Result) -> [String] {
        (result.run(.reprise)?.seen.notes.remarks ?? []).map { "  " + $0 }
    }

    private static func size(_ bytes: Int) -> String {
        bytes < 10_000_000
            ? "\((bytes + 500) / 1_000) kB" : "\((bytes + 500_000) / 1_000_000) MB"
    }

    /// Chains that have not come to their end; as a cell counts them, and those in quarantine.
    private static func lost(_ run: Run, isCell: Bool = true) -> Int {
        (0..<run.scenario.chains).count { chain in
            let state = run.seen.states[chain]
            return state != run.scenario.end(of: chain) || isCell && state == "quarantined"
        }
    }

    /// The bytes written, without the tasks' own files.
    private static func written(_ run: Run) -> Int? {
        guard let files = run.scenario.fileBytes, let written = run.seen.written else {
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
        [
            report.account("each chain comes to its end") { app in
                report.sum(app) { lost($1, isCell: false) }.map { "\($0) lost" }
            }
        ]
    }

    static func json(_ result: Result, _ run: Run) -> ReportObject {
        [
            "effects": run.seen.done.count, "again": run.seen.repeated,
            "lost": lost(run), "written": written(run),
            "states": run.seen.states.values.reduce(into: [String: Int]()) {
                $0[$1, default: 0] += 1
            },
            "notes": run.seen.notes.remarks,
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

    static func sightings(_ run: Run) -> [Sighting] {
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
}
