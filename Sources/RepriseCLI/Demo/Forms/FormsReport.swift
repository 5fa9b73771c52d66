import Foundation
import RepriseCore
import ReprisePhone
import RepriseWire

/// The scenarios and what three apps have made of them.
struct FormsReport: Sendable {
    let results: [FormsResult]
    let algorithms: [FormsAlgorithm]
    /// The picture of a form.
    let picture: URL?
    let took: Duration

    /// Whether all invariants held.
    var hasPassed: Bool { !results.isEmpty && results.allSatisfy(\.isKept) }

    // MARK: For people

    func table(_ terminal: Terminal) -> String {
        let table = ScenarioTable(terminal: terminal)
        var lines = [
            "", "", table.head("what was seen, and how soon", algorithms.map(\.title)),
        ]
        lines += results.map { result in
            table.row(result.scenario.title, algorithms.map { cell(result, $0) })
        }
        lines += stages(terminal)
        lines += [
            "",
            hasPassed
                ? terminal.paint("Every form was seen that had to be, once; none other.", .green)
                : terminal.paint("A promise was broken. Please report it with this output.", .red),
            "",
            explanation,
        ]
        if let picture { lines.append("A form as it looks: \(picture.path)") }
        lines.append("Took \(took.shown).")
        return lines.joined(separator: "\n")
    }

    private func cell(
        _ result: FormsResult, _ algorithm: FormsAlgorithm
    ) -> ScenarioTable.Cell {
        guard let run = result.run(algorithm) else { return ("–", nil) }
        switch result.disposition(run) {
        case .right:
            if result.scenario.forms.isEmpty { return ("not shown", .green) }
            let time = result.time(run).map { String(format: "%.2f s", $0.inSeconds) } ?? "–"
            return (time, algorithm == .reprise ? .green : nil)
        case .lost(let count):
            return (result.scenario.forms.count == 1 ? "lost" : "\(count) lost", .red)
        case .twice(let count): return (count == 1 ? "twice" : "\(count) again", .red)
        case .other: return ("another", .red)
        }
    }

    /// The way of a launch from dead, split into its stages.
    private func stages(_ terminal: Terminal) -> [String] {
        guard
            let run = results.first(where: { $0.scenario.name == "terminated-fast" })?.run(
                .reprise),
            let start = run.log.first(where: { $0.what == "launched" })?.microseconds,
            let seen = run.sightings.first
        else { return [] }
        let stages = [
            ("app.process", "process starts, talks to the system"), ("app.journal", "journal open"),
            ("app.recorded", "tap recorded"), ("app.webView", "web view has loaded its page"),
            ("app.handshake", "handshake"), ("app.formsData", "catalogue in the page"),
            ("app.event", "event to the page"), ("app.formDidAppear", "form drawn"),
        ]
        var moments = stages.compactMap { what, label in
            run.log.first { $0.what == what }.map { (label, $0.microseconds) }
        }
        moments.append(("seen from outside, by asking the browser", seen.microseconds))
        moments.sort { $0.1 < $1.1 }
        var last = start
        let lines = moments.map { label, moment in
            defer { last = moment }
            return "  " + label.left(42)
                + String(format: "%8.1f ms", Double(moment - last) / 1_000).right(14)
                + String(format: "%8.1f ms", Double(moment - start) / 1_000).right(14)
        }
        return [
            "",
            terminal.paint(
                "From process launch to form visible".left(44) + "step".right(14)
                    + "so far".right(14), .bold),
        ] + lines
    }

    private var explanation: String {
        """
        chaining   seed 000 before its repair: an event for a web view that is not there
                   is dropped without a word.
        waiting    its repair at its best: kept in memory, replayed when the forms have
                   come or after 3 s, into a page that may have none.
        reprise    recorded before anything else, handed over when the page says that it
                   has its forms, finished when the form has appeared.

        A time is from the tap, or from the moment at which a form became possible (the
        network is back, the app is launched again). – : the seed says nothing of it.
        All three use the same system, browser and page; what the seed leaves open is
        filled in to its advantage.
        """
    }

    // MARK: For programs

    func json() throws -> String {
        let summary = Summary(
            passed: hasPassed, scenarios: results.map(Summary.Scenario.init),
            picture: picture?.path, milliseconds: took.milliseconds)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(summary), as: UTF8.self)
    }

    private struct Summary: Encodable {
        struct Run: Encodable {
            let disposition: String
            let seen: [String]
            let milliseconds: Int64?

            private enum CodingKeys: String, CodingKey {
                case disposition = "verdict"
                case seen
                case milliseconds
            }
        }

        struct Scenario: Encodable {
            let name: String
            let kept: Bool
            let expected: [String]
            let apps: [String: Run]
            let ledger: [String: Int64]

            init(_ result: FormsResult) {
                name = result.scenario.name
                kept = result.isKept
                expected = result.scenario.forms
                apps = Dictionary(
                    result.runs.map { run in
                        let disposition =
                            switch result.disposition(run) {
                            case .right: "right"
                            case .lost: "lost"
                            case .twice: "twice"
                            case .other: "other"
                            }
                        return (
                            run.algorithm.rawValue,
                            Run(
                                disposition: disposition, seen: run.sightings.map(\.title),
                                milliseconds: result.time(run)?.milliseconds)
                        )
                    }
                ) { first, _ in first }
                ledger = (result.run(.reprise)?.ledger ?? LedgerSum()).counts
            }
        }

        let scenario = "forms"
        let passed: Bool
        let scenarios: [Scenario]
        let picture: String?
        let milliseconds: Int64
    }
}
