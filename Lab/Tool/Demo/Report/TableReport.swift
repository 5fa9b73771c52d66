import RepriseCommandLine
import RepriseCore

/// A line of a table in 80 columns: a title, and cells flush right.
struct TableRow: Sendable {
    typealias Cell = (text: String, colour: Terminal.Colour?)

    let title: String
    let cells: [Cell]

    init(_ title: String, _ cells: [Cell]) { (self.title, self.cells) = (title, cells) }
    init(_ title: String, _ cells: [String]) { self.init(title, cells.map { ($0, nil) }) }

    /// The line, with room for so many cells of a width; nil: for as many as there are.
    func text(_ terminal: Terminal, width: Int = 12, columns: Int? = nil) -> String {
        cells.reduce(title.left(80 - width * (columns ?? cells.count))) { line, cell in
            let text = cell.text.right(width)
            return line + (cell.colour.map { terminal.paint(text, $0) } ?? text)
        }
    }

    /// A number that is to be 0.
    static func bad(_ count: Int) -> Cell { (count.grouped, count == 0 ? .green : .red) }
}

/// The report of a demo that ends in one table: a column for each app, a row for each measure.
struct TableReport: DemoReport {
    let name: String
    var seed: UInt64?
    let took: Duration
    let head: TableRow
    let rows: [TableRow]
    /// What was violated.
    let faults: [ScenarioFault]
    /// The sentence if nothing was.
    let verdict: String
    var failure = "An invariant was violated. Please report it with the seed."
    let explanation: String
    /// For programs, beside what every report says.
    let figures: ReportObject
    var accounts: [DemoAccount] = []

    /// Whether all expectations were met.
    var hasPassed: Bool { faults.isEmpty }

    var members: ReportObject {
        figures.merging([
            "scenario": name, "seed": seed, "passed": hasPassed,
            "milliseconds": took.milliseconds,
        ])
    }

    func rest(_ terminal: Terminal) -> String {
        let verdict = hasPassed ? terminal.paint(verdict, .green) : terminal.paint(failure, .red)
        return
            (["", terminal.paint(head.text(.plain), .bold)] + rows.map { $0.text(terminal) }
            + ["", verdict] + faults.map { "  " + $0.sentence } + ["", explanation])
            .joined(separator: "\n")
    }
}
