import RepriseCommandLine
import RepriseCore

/// The report of a demo whose devices play all at once: a column for each device, a row for each
/// measure.
struct DeviceReport: DemoReport {
    typealias Cell = (text: String, colour: Terminal.Colour?)

    struct Row: Sendable {
        let title: String
        let cells: [Cell]

        init(_ title: String, _ cells: [Cell]) { (self.title, self.cells) = (title, cells) }
        init(_ title: String, _ cells: [String]) { self.init(title, cells.map { ($0, nil) }) }
    }

    let columns: [String]
    let rows: [Row]
    let faults: [ScenarioFault]
    let verdict: String
    let explanation: String
    /// Members of the JSON.
    let members: ReportObject
    let accounts: [DemoAccount]

    /// Whether all expectations were met.
    var hasPassed: Bool { faults.isEmpty }

    func rest(_ terminal: Terminal) -> String {
        let width = columns.map { max(12, $0.count) }.max() ?? 12
        let title = 80 - width * columns.count
        let head = columns.reduce("".left(title)) { $0 + $1.right(width) }
        let verdict =
            hasPassed
            ? terminal.paint(verdict, .green)
            : terminal.paint("An invariant was violated. Please report it with the seed.", .red)
        let lines = rows.map { row in
            row.cells.reduce(row.title.left(title)) { line, cell in
                let text = cell.text.right(width)
                return line + (cell.colour.map { terminal.paint(text, $0) } ?? text)
            }
        }
        return
            (["", terminal.paint(head, .bold)] + lines + ["", verdict]
            + faults.map { "  " + $0.sentence } + ["", explanation]).joined(separator: "\n")
    }

    func json() throws -> String { try members.merging(["passed": hasPassed]).line() }

    /// A number that is to be 0.
    static func bad(_ count: Int) -> Cell { (count.grouped, count == 0 ? .green : .red) }
}
