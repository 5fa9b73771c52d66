import Foundation
import RepriseCore

/// The scenarios and what three apps have made of them.
struct RemindersReport: Sendable {
    let results: [RemindersResult]
    let algorithms: [RemindersAlgorithm]
    let took: Duration

    /// Whether all invariants held.
    var hasPassed: Bool { !results.isEmpty && results.allSatisfy(\.isKept) }

    // MARK: For people

    func table(_ terminal: Terminal) -> String {
        ([Self.head(algorithms, terminal)] + results.map { Self.row($0, algorithms, terminal) }
            + [foot(terminal)]).joined(separator: "\n")
    }

    static func head(_ algorithms: [RemindersAlgorithm], _ terminal: Terminal) -> String {
        ScenarioTable(terminal: terminal).head(
            "what was seen, and how soon", algorithms.map(\.rawValue))
    }

    static func row(
        _ result: RemindersResult, _ algorithms: [RemindersAlgorithm], _ terminal: Terminal
    ) -> String {
        ScenarioTable(terminal: terminal).row(
            result.scenario.title, algorithms.map { cell(result, $0) })
    }

    private static func cell(
        _ result: RemindersResult, _ algorithm: RemindersAlgorithm
    ) -> ScenarioTable.Cell {
        guard let run = result.run(algorithm) else { return ("–", nil) }
        let faults = result.faults(run)
        guard faults.isEmpty else {
            // Only the screens and the orphans fit.
            let others = faults.filter { if case .orphans = $0 { false } else { true } }
            let left = faults.filter { !others.contains($0) }
            return ((others.prefix(1) + left).map(\.word).joined(separator: " "), .red)
        }
        let good: Terminal.Colour? = algorithm == .reprise ? .green : nil
        guard algorithm != .reprise || result.isKept else { return ("ledger", .red) }
        if let time = result.time(run) { return (String(format: "%.2f s", time.inSeconds), good) }
        return (run.heard.isEmpty ? "in order" : "on time", good)
    }

    func foot(_ terminal: Terminal) -> String {
        let table = ScenarioTable(terminal: terminal)
        func counts(_ count: (RemindersResult, RemindersRun) -> Int) -> [Int] {
            algorithms.map { algorithm in
                results.reduce(0) { sum, result in
                    sum + (result.run(algorithm).map { count(result, $0) } ?? 0)
                }
            }
        }
        let played = counts { result, _ in result.scenario.screens.isEmpty ? 0 : 1 }
        func share(
            _ title: String, _ time: (RemindersResult, RemindersRun) -> Duration?
        ) -> String {
            let soon = counts { result, run in
                let isRight = !result.faults(run).contains {
                    switch $0 {
                    case .lost, .twice, .screen: true
                    case .orphans, .silent, .dropped, .heard, .applied: false
                    }
                }
                return isRight && time(result, run).map { $0 <= RemindersResult.metric } == true
                    ? 1 : 0
            }
            return table.row(title, zip(soon, played).map { ("\($0) of \($1)", nil) })
        }
        return [
            "",
            share("the right screen within 500 ms of the tap") { $0.time($1) },
            share("  counted from when its goals are loaded") { $0.timeWithGoals($1) },
            table.row(
                "orphans in the notification centre",
                counts { $1.centre.orphans }.map { ("\($0)", nil) }),
            "",
            hasPassed
                ? terminal.paint(
                    "Every tap had its screen, once; nothing waits to ring for what is gone.",
                    .green)
                : terminal.paint("A promise was broken. Please report it with this output.", .red),
            "", Self.explanation, "Took \(took.shown).",
        ].joined(separator: "\n")
    }

    private static let explanation = """
        first      seed 002 before its repair: the goal is looked up at the tap.
        repaired   all of its repair: after 100 ms, once more after 50, and cancelled
                   where somebody has thought of it.
        reprise    recorded before anything else, looked up when the goals are there,
                   finished when the screen is; what rings is asked of the system anew.

        A time is the longest from a tap to its screen, the start of the app included.
        Who says “gone” of all that is not loaded yet is right where it is gone.
        “gone”, “entry”, “paused”: the wrong screen. +3: three notifications wait to
        ring for what is gone, paused or moved, as the phone counts them. silent: a
        goal in use does not ring next time. over: not kept by the system, of which
        64 can wait. – : the seed says nothing of it; what it leaves open is filled in
        to its advantage.
        """

    // MARK: For programs

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(RemindersSummary(self)), as: UTF8.self)
    }
}

extension RemindersResult.Fault {
    /// In a cell.
    var word: String {
        switch self {
        case .lost(let count): count == 1 ? "lost" : "\(count) lost"
        case .twice(let count): count == 1 ? "twice" : "\(count) again"
        case .screen(let screen):
            switch screen.prefix(while: { $0 != " " }) {
            case "missingGoal", "deletedGoal": "“gone”"
            case "dataEntry": "“entry”"
            case "inactiveGoal": "“paused”"
            case "replacedGoal": "“moved”"
            default: "“other”"
            }
        case .orphans(let count): "+\(count)"
        case .silent(let count): "\(count) silent"
        case .dropped(let count): "\(count) over"
        case .heard(let times): "\(times.count)× heard"
        case .applied(let what): "\(what.count)× done"
        }
    }

    /// In a sentence.
    var sentence: String {
        switch self {
        case .lost(let count): "\(count) taps led nowhere"
        case .twice(let count): "\(count) screens too many"
        case .screen(let screen): "the person saw \(screen)"
        case .orphans(let count): "\(count) wait to ring for what is gone, paused or moved"
        case .silent(let count): "\(count) goals in use do not ring next time"
        case .dropped(let count): "\(count) requests were more than the system keeps"
        case .heard(let times): "rang at \(times.joined(separator: ", "))"
        case .applied(let what): "buttons have done: \(what.joined(separator: ", "))"
        }
    }
}
