import RepriseCommandLine
import RepriseCore

/// Prints what happens, as it happens, with how far everybody is.
struct Timeline: Sendable {
    private let start = ContinuousClock.now
    private let settings: DemoSettings
    /// Each column with its width.
    private let columns: [(name: String, width: Int)]

    init(_ settings: DemoSettings, _ columns: [(String, Int)]) {
        (self.settings, self.columns) = (settings, columns)
    }

    var elapsed: Duration { .now - start }

    func title(_ lines: [String]) throws {
        let terminal = Terminal.output
        let head =
            columns.reduce("time".right(7)) { $0 + $1.name.right($1.width) } + "  what happened"
        let all =
            [terminal.paint(lines[0], .bold)] + lines.dropFirst()
            + ["", terminal.paint(head, .dim)]
        try settings.say(all.joined(separator: "\n"))
    }

    func row(_ counts: [Int], _ what: String) throws {
        try settings.say(lines(counts, what, on: .output).joined(separator: "\n"))
    }

    /// Text that does not fit beside the numbers goes below, so that no line exceeds 80 columns.
    func lines(_ counts: [Int], _ what: String, on terminal: Terminal) -> [String] {
        let numbers =
            zip(counts, columns).reduce(elapsed.shown.right(7)) { row, column in
                row + column.0.grouped.right(column.1.width)
            } + "  "
        let isKill = what.hasPrefix("SIGKILL")
        return what.wrapped(80 - numbers.columns).enumerated().map { number, text in
            (number == 0 ? numbers : "".left(numbers.columns))
                + (isKill ? terminal.paint(text, .red) : text)
        }
    }
}
