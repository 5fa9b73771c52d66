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
    let settings: DemoSettings

    /// Plays all, and prints each part as soon as it is over.
    func play() async throws -> TableReport {
        let began = ContinuousClock.now
        var played: [(name: String, report: any DemoReport)] = []
        for (index, part) in parts.enumerated() {
            try Task.checkCancellation()
            let head = "\(index + 1) of \(parts.count)  \(part.name)"
            try settings.say("\n" + Terminal.output.paint(head, .bold) + "  " + part.title)
            let report = try await part.play()
            played.append((part.name, report))
            let rest = report.rest(.output)
            if !rest.isEmpty { try settings.say(rest) }
        }
        return Self.report(played, took: .now - began)
    }

    static func report(
        _ played: [(name: String, report: any DemoReport)], took: Duration
    ) -> TableReport {
        let broken = played.filter { !$0.report.hasPassed }.map(\.name)
        let accounts = played.flatMap(\.report.accounts)
        return TableReport(
            name: "all", took: took,
            head: TableRow("what was expected", ["before", "repaired", "reprise"]),
            rows: accounts.map { account in
                TableRow(
                    account.feature.left(11) + account.promise,
                    [
                        (account.before ?? "–", nil), (account.repaired ?? "–", nil),
                        (account.reprise, account.kept ? .green : .red),
                    ])
            },
            faults: (played.isEmpty ? ["nothing was played"] : broken).map { .init($0, $0, $0) },
            verdict: "Every guarantee of the five features held.",
            failure: "Broken: \(broken.joined(separator: ", ")). "
                + "Please report it with this output.",
            explanation: """
                before     the original app of the case study, as it failed.
                repaired   the same with the case study's own repair; –: it has none.
                reprise    checked outside its journal: files, the phone, the browser.

                Each part alone, with every scenario: reprise-lab demo forms, and so on.
                Took \(took.shown).
                """,
            figures: ["accounts": accounts, "parts": played.map(\.report.members)],
            accounts: accounts)
    }
}
