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
        let cells = apps.map { app -> (text: String, colour: Terminal.Colour?) in
            guard let run = result.run(app) else { return ("–", nil) }
            let isGood = result.faults(run).isEmpty
            return (Demo.cell(result, run), isGood ? (app == .reprise ? .green : nil) : .red)
        }
        let faults = result.run(.reprise).map { result.faults($0) } ?? []
        return [line(result.scenario.title, cells, terminal)] + Demo.remarks(result)
            + faults.flatMap { $0.sentence.wrapped(76) }.map { "  " + terminal.paint($0, .red) }
    }

    /// A line of the table in 80 columns: the title, and a cell for each app.
    static func line(_ title: String, _ cells: [String]) -> String {
        line(title, cells.map { ($0, nil) }, .plain)
    }

    private static func line(
        _ title: String, _ cells: [(text: String, colour: Terminal.Colour?)], _ terminal: Terminal
    ) -> String {
        let width = (80 - Demo.column.width) / Demo.App.allCases.count
        return cells.reduce(title.left(Demo.column.width)) { line, cell in
            let text = cell.text.right(width)
            return line + (cell.colour.map { terminal.paint(text, $0) } ?? text)
        }
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

    /// A number for each app, added up over the scenarios.
    func sums(_ count: (ScenarioResult<Demo>, ScenarioRun<Demo>) -> Int) -> [Int] {
        apps.map { sum($0, count) ?? 0 }
    }

    /// The same for one app; nil: it has played none.
    func sum(
        _ app: Demo.App, _ count: (ScenarioResult<Demo>, ScenarioRun<Demo>) -> Int
    ) -> Int? {
        let counts = results.compactMap { result in result.run(app).map { count(result, $0) } }
        return counts.isEmpty ? nil : counts.reduce(0, +)
    }

    // MARK: For programs

    func json() throws -> String {
        let scenarios = results.map { result -> ReportObject in
            let apps = result.runs.map { ($0.app.rawValue, Demo.json(result, $0)) }
            return Demo.json(result).merging([
                "name": result.scenario.name, "kept": result.isKept,
                "apps": Dictionary(apps) { first, _ in first },
            ])
        }
        let report: ReportObject = [
            "scenario": Demo.name, "passed": hasPassed, "milliseconds": took.milliseconds,
            "picture": files.first { $0.pathExtension == "png" }?.path, "scenarios": scenarios,
        ]
        return try report.line()
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
            try Data((json() + "\n").utf8)
                .write(to: folder.appendingPathComponent("\(Demo.name).json"))
        } catch {
            throw CommandFailure(
                .cannotCreate, "The report cannot be written to \(folder.path): \(error)")
        }
    }
}

/// An object in a report for programs; a member without a value is left out.
struct ReportObject: Encodable, Sendable, ExpressibleByDictionaryLiteral {
    typealias Member = any Encodable & Sendable

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private var members: [String: Member]

    init(_ members: [String: Member?]) { self.members = members.compactMapValues { $0 } }
    init(dictionaryLiteral members: (String, Member?)...) {
        self.init(Dictionary(members) { first, _ in first })
    }

    /// A member that is null without a value.
    static func nullable(_ value: Int64?) -> Member { value }

    func merging(_ other: ReportObject) -> ReportObject {
        var all = self
        all.members.merge(other.members) { first, _ in first }
        return all
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for (name, value) in members {
            try container.encode(value, forKey: Name(stringValue: name))
        }
    }
}
