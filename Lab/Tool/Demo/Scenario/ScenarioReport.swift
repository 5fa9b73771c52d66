import Foundation
import RepriseCommandLine
import RepriseCore

/// The scenarios and what the apps have made of them.
struct ScenarioReport<Demo: ScenarioDemo>: DemoReport {
    let results: [ScenarioResult<Demo>]
    let apps: [Demo.App]
    let took: Duration
    /// The runs' own files, once they are saved.
    private(set) var files: [URL] = []

    /// Whether all expectations were met.
    var hasPassed: Bool { !results.isEmpty && results.allSatisfy(\.isKept) }

    var accounts: [DemoAccount] { Demo.accounts(self) }

    // MARK: For people

    func table(_ terminal: Terminal) -> String {
        ([Self.head(apps, terminal)] + results.flatMap { Self.rows($0, apps, terminal) }
            + [foot(terminal)]).joined(separator: "\n")
    }

    static func head(_ apps: [Demo.App], _ terminal: Terminal) -> String {
        "\n" + terminal.paint(line(Demo.column.title, apps.map(\.title)), .bold)
    }

    static func rows(
        _ result: ScenarioResult<Demo>, _ apps: [Demo.App], _ terminal: Terminal
    ) -> [String] {
        let cells = apps.map { app -> TableRow.Cell in
            guard let run = result.run(app) else { return ("–", nil) }
            let isGood = result.faults(run).isEmpty
            return (Demo.cell(result, run), isGood ? (app == .reprise ? .green : nil) : .red)
        }
        let faults = result.run(.reprise).map { result.faults($0) } ?? []
        return [line(TableRow(result.scenario.title, cells), terminal)] + Demo.remarks(result)
            + faults.flatMap { $0.sentence.wrapped(76) }.map { "  " + terminal.paint($0, .red) }
    }

    /// A line of the table: the title, and a cell for each app.
    static func line(_ title: String, _ cells: [String]) -> String {
        line(TableRow(title, cells), .plain)
    }

    private static func line(_ row: TableRow, _ terminal: Terminal) -> String {
        let count = Demo.App.allCases.count
        return row.text(terminal, width: (80 - Demo.column.width) / count, columns: count)
    }

    /// What follows the rows.
    func foot(_ terminal: Terminal) -> String {
        let verdict =
            hasPassed
            ? terminal.paint(Demo.verdict, .green)
            : terminal.paint("An invariant was violated. Please report it with this output.", .red)
        return
            (Demo.sums(self, terminal) + ["", verdict, "", Demo.explanation]
            + files.map { "Written: \($0.path)" } + ["Took \(took.shown)."])
            .joined(separator: "\n")
    }

    func rest(_ terminal: Terminal) -> String { "" }

    // MARK: For the demos' own lines

    /// A line with a number for each app, added up over the scenarios.
    func row(_ title: String, _ count: (ScenarioResult<Demo>, ScenarioRun<Demo>) -> Int) -> String {
        Self.line(title, apps.map { "\(sum($0, count) ?? 0)" })
    }

    /// The number for one app; nil: it has played none.
    func sum(
        _ app: Demo.App, where isMeant: (Demo.Script) -> Bool = { _ in true },
        _ count: (ScenarioResult<Demo>, ScenarioRun<Demo>) -> Int
    ) -> Int? {
        let counts = counts(app, where: isMeant, count)
        return counts.isEmpty ? nil : counts.reduce(0, +)
    }

    /// How many of the scenarios that an app has played are right; nil: it has played none.
    func share(
        _ app: Demo.App, where isMeant: (Demo.Script) -> Bool = { _ in true },
        _ isRight: (ScenarioResult<Demo>, ScenarioRun<Demo>) -> Bool
    ) -> String? {
        let right = counts(app, where: isMeant, isRight)
        return right.isEmpty ? nil : "\(right.count { $0 }) of \(right.count)"
    }

    private func counts<Count>(
        _ app: Demo.App, where isMeant: (Demo.Script) -> Bool,
        _ count: (ScenarioResult<Demo>, ScenarioRun<Demo>) -> Count
    ) -> [Count] {
        results.filter { isMeant($0.scenario) }
            .compactMap { result in result.run(app).map { count(result, $0) } }
    }

    /// A row of `demo all`: a cell for each app; nil: it has played none.
    func account(_ promise: String, _ cell: (Demo.App) -> String?) -> DemoAccount {
        let all = Array(Demo.App.allCases)
        return DemoAccount(
            feature: Demo.name, promise: promise, before: cell(all[0]),
            repaired: all.count > 2 ? cell(all[1]) : nil, reprise: cell(.reprise) ?? "–",
            kept: hasPassed)
    }

    // MARK: For programs

    var members: ReportObject {
        let scenarios = results.map { result in
            let apps = result.runs.map { run in
                let faults = result.faults(run).map(\.sentence)
                return (run.app.rawValue, Demo.json(result, run).merging(["faults": faults]))
            }
            return Demo.json(result).merging([
                "name": result.scenario.name, "kept": result.isKept,
                "apps": Dictionary(apps) { first, _ in first },
                "ledger": (result.run(.reprise)?.ledger ?? LedgerSum()).counts,
            ])
        }
        return [
            "scenario": Demo.name, "passed": hasPassed, "milliseconds": took.milliseconds,
            "picture": files.first { $0.pathExtension == "png" }?.path, "scenarios": scenarios,
        ]
    }

    // MARK: Files

    /// Writes the report with all timelines, the same for programs, and the runs' own files.
    mutating func save(in folder: URL) throws {
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for result in results {
                for run in result.runs {
                    for (name, data) in Demo.files(run) {
                        files.append(folder.appendingPathComponent(name))
                        try data.write(to: folder.appendingPathComponent(name))
                    }
                }
            }
            let text = [table(.plain)] + results.map { ScenarioTimeline($0).text(.plain) }
            try Data((text.joined(separator: "\n") + "\n").utf8)
                .write(to: folder.appendingPathComponent("\(Demo.name).txt"))
            try Data((members.line() + "\n").utf8)
                .write(to: folder.appendingPathComponent("\(Demo.name).json"))
        } catch {
            throw CommandFailure(
                .cannotCreate, "The report cannot be written to \(folder.path): \(error)")
        }
    }
}
