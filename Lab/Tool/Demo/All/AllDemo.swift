import Foundation
import RepriseCommandLine
import RepriseCore

/// All five features, one after the other, and one table of expected and observed results.
struct AllDemo: Sendable {
    /// One part of it.
    struct Part: Sendable {
        let name: String
        let title: String
        let play: @Sendable () async throws -> any DemoReport
    }

    let parts: [Part]
    let isQuiet: Bool

    /// Plays all, and prints each part as soon as it is over.
    func play() async throws -> AllReport {
        let began = ContinuousClock.now
        var played: [AllReport.Played] = []
        for (index, part) in parts.enumerated() {
            try Task.checkCancellation()
            if !isQuiet {
                let head = "\(index + 1) of \(parts.count)  \(part.name)"
                try StandardOutput.write(
                    "\n" + Terminal.output.paint(head, .bold) + "  " + part.title)
            }
            let start = ContinuousClock.now
            let report = try await part.play()
            played.append(.init(name: part.name, report: report, took: .now - start))
            let rest = report.rest(Terminal.output)
            if !isQuiet, !rest.isEmpty { try StandardOutput.write(rest) }
        }
        return AllReport(played: played, took: .now - began)
    }
}

/// The results of all parts of the demo.
struct AllReport: DemoReport {
    struct Played: Sendable {
        let name: String
        let report: any DemoReport
        let took: Duration
    }

    let played: [Played]
    let took: Duration

    /// Whether all invariants held.
    var hasPassed: Bool { !played.isEmpty && played.allSatisfy(\.report.hasPassed) }

    var accounts: [DemoAccount] { played.flatMap(\.report.accounts) }

    // MARK: For people

    func rest(_ terminal: Terminal) -> String { table(terminal) }

    func table(_ terminal: Terminal) -> String {
        func row(_ account: DemoAccount) -> String {
            let ours = account.reprise.right(12)
            return account.feature.left(11) + account.promise.left(33)
                + (account.before ?? "–").right(12) + (account.repaired ?? "–").right(12)
                + terminal.paint(ours, account.kept ? .green : .red)
        }
        let broken = played.filter { !$0.report.hasPassed }.map(\.name)
        return [
            "", "",
            terminal.paint(
                "what was expected".left(44) + "before".right(12) + "repaired".right(12)
                    + "reprise".right(12), .bold),
        ]
        .appending(accounts.map(row))
        .appending([
            "",
            broken.isEmpty
                ? terminal.paint("Every guarantee of the five features held.", .green)
                : terminal.paint(
                    "Broken: \(broken.joined(separator: ", ")). Please report it with this output.",
                    .red),
            "",
            """
            before     the original app of the case study, as it failed.
            repaired   the same with the case study's own repair; –: it has none.
            reprise    checked outside its journal: files, the phone, the browser.

            Each part alone, with every scenario: reprise-lab demo forms, and so on.
            Took \(took.shown).
            """,
        ])
        .joined(separator: "\n")
    }

    // MARK: For programs

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let rows = String(decoding: try encoder.encode(accounts), as: UTF8.self)
        let parts = try played.map { try $0.report.json() }.joined(separator: ",")
        return """
            {"scenario":"all","passed":\(hasPassed),"accounts":\(rows),"parts":[\(parts)],\
            "milliseconds":\(took.milliseconds)}
            """
    }
}

extension [String] {
    fileprivate func appending(_ lines: [String]) -> [String] { self + lines }
}
