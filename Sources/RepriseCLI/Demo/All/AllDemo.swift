import Foundation
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
            if !isQuiet { try StandardOutput.write(report.rest(Terminal.output)) }
        }
        return AllReport(played: played, took: .now - began)
    }
}

/// The results of all parts of the demo.
struct AllReport: Sendable {
    struct Played: Sendable {
        let name: String
        let report: any DemoReport
        let took: Duration
    }

    let played: [Played]
    let took: Duration

    /// Whether all invariants held.
    var hasPassed: Bool { !played.isEmpty && played.allSatisfy(\.report.hasPassed) }

    // MARK: For people

    func table(_ terminal: Terminal) -> String {
        let accounts = played.flatMap(\.report.accounts)
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
                "what was promised".left(44) + "before".right(12) + "repaired".right(12)
                    + "reprise".right(12), .bold),
        ]
        .appending(accounts.map(row))
        .appending([
            "",
            broken.isEmpty
                ? terminal.paint("Every promise of the five doors was kept.", .green)
                : terminal.paint(
                    "Broken: \(broken.joined(separator: ", ")). Please report it with this output.",
                    .red),
            "",
            """
            before     the app of the document that the door comes from, as it failed.
            repaired   the same with the document's own repair; – : it has none.
            reprise    by witnesses outside its journal: files, the phone, the browser.

            Each part alone, with every scenario: reprise demo forms, and so on.
            Took \(took.shown).
            """,
        ])
        .joined(separator: "\n")
    }

    // MARK: For programs

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let accounts = String(
            decoding: try encoder.encode(played.flatMap(\.report.accounts)), as: UTF8.self)
        let parts = try played.map { try $0.report.json() }.joined(separator: ",")
        return """
            {"scenario":"all","passed":\(hasPassed),"accounts":\(accounts),"parts":[\(parts)],\
            "milliseconds":\(took.milliseconds)}
            """
    }
}

extension [String] {
    fileprivate func appending(_ lines: [String]) -> [String] { self + lines }
}
