import Foundation
import RepriseCore
import RepriseWire

/// The scenarios and what the apps have made of them.
struct ChainsReport: Sendable {
    let results: [ChainsResult]
    let took: Duration

    /// Whether all invariants held.
    var hasPassed: Bool { !results.isEmpty && results.allSatisfy(\.isKept) }

    // MARK: For people

    /// All of it; the demo prints the head and the rows as it goes.
    func table(_ terminal: Terminal) -> String {
        (Self.head(terminal) + results.flatMap { Self.rows($0, terminal) } + [summary(terminal)])
            .joined(separator: "\n")
    }

    static func head(_ terminal: Terminal) -> [String] {
        let columns = "again".right(6) + "lost".right(5) + "written".right(9)
        return [
            "",
            terminal.paint("".left(32) + "single-value".right(20) + "reprise".right(20), .bold),
            terminal.paint("what happens".left(32) + columns + columns + " verdict", .bold),
        ]
    }

    static func rows(_ result: ChainsResult, _ terminal: Terminal) -> [String] {
        let cells = ChainsAlgorithm.allCases.reduce("") { line, algorithm in
            line + cell(result, algorithm, terminal)
        }
        let disposition =
            result.isKept ? terminal.paint(" kept", .green) : terminal.paint(" BROKEN", .red)
        let words = result.run(.reprise)?.notes.words ?? []
        return [result.scenario.title.left(32) + cells + disposition]
            + words.map { "  " + $0 } + result.faults.map { "  " + terminal.paint($0, .red) }
    }

    private static func cell(
        _ result: ChainsResult, _ algorithm: ChainsAlgorithm, _ terminal: Terminal
    ) -> String {
        guard let run = result.run(algorithm) else {
            return "–".right(6) + "–".right(5) + "–".right(9)
        }
        let again = (run.notes.again ?? "\(run.repeated)").right(6)
        let lost = result.lost(run)
        let text = "\(lost)".right(5)
        return again + (lost > 0 && algorithm != .reprise ? terminal.paint(text, .red) : text)
            + (result.written(run).map(size) ?? "–").right(9)
    }

    private static func size(_ bytes: Int) -> String {
        bytes < 10_000_000
            ? "\((bytes + 500) / 1_000) kB" : "\((bytes + 500_000) / 1_000_000) MB"
    }

    func summary(_ terminal: Terminal) -> String {
        """

        \(hasPassed
            ? terminal.paint(
                "Every chain came to its end; nothing with an outcome was done again.", .green)
            : terminal.paint("A promise was broken. Please report it with this output.", .red))

        again    effects that took place a second time, by a file outside the journal.
                 What was in hand at a kill may be among them: at least once, with the
                 same key. (download: what was fetched again)
        lost     chains that did not come to their end; those that Reprise counts are
                 the damaged ones, in quarantine, where `reprise chains` shows them.
        written  by the app's processes, as the kernel counts it, without files that
                 tasks made. The seed's value is kinder than the seed: without tasks'
                 settings. Reprise's begins with the tables of its journal, 0.7 MB.
        –        the seed says nothing of it, or it cannot be told apart.

        A step of the seed's test takes 0.4 s here, not 5 s. \(Self.disk)
        Took \(String(format: "%.1f s", took.inSeconds)).
        """
    }

    private static let disk =
        SmallDisk.isPossible
        ? "The disk that is full is\na small one in memory, on which nothing but the app's data lies."
        : """
        The disk that is full is
        the journal's own bound of pages, and the seed's store is not asked: only root
        may mount a small disk, on Linux. SQLite refuses as it does on a full disk.
        """

    // MARK: For programs

    func json() throws -> String {
        let summary = Summary(
            passed: hasPassed, scenarios: results.map(Summary.Scenario.init),
            milliseconds: took.milliseconds)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(summary), as: UTF8.self)
    }

    private struct Summary: Encodable {
        struct Run: Encodable {
            let effects: Int
            let again: Int
            let lost: Int
            let written: Int?
            let states: [String: Int]
            let notes: [String]
        }

        struct Scenario: Encodable {
            let name: String
            let kept: Bool
            let faults: [String]
            let apps: [String: Run]

            init(_ result: ChainsResult) {
                (name, kept, faults) = (result.scenario.name, result.isKept, result.faults)
                apps = result.runs.reduce(into: [:]) { apps, run in
                    apps[run.algorithm.rawValue] = Run(
                        effects: run.done.count, again: run.repeated, lost: result.lost(run),
                        written: result.written(run),
                        states: run.states.values.reduce(into: [:]) { $0[$1, default: 0] += 1 },
                        notes: run.notes.words)
                }
            }
        }

        let scenario = "chains"
        let passed: Bool
        let scenarios: [Scenario]
        let milliseconds: Int64
    }
}
