import RepriseCommandLine
import RepriseCore

/// Prints what happens, as it happens, with how far everybody is.
struct Timeline: Sendable {
    private let start = ContinuousClock.now
    private let isQuiet: Bool
    /// The columns beside the stored count, each with its width.
    private let columns: [(name: String, width: Int)]

    init(isQuiet: Bool, columns: [(String, Int)] = [("stored", 9), ("reprise", 9), ("naive", 9)]) {
        self.isQuiet = isQuiet
        self.columns = columns
    }

    var elapsed: Duration { .now - start }

    func title(_ lines: [String]) throws {
        guard !isQuiet else { return }
        let terminal = Terminal.output
        try StandardOutput.write(terminal.paint(lines[0], .bold))
        for line in lines.dropFirst() { try StandardOutput.write(line) }
        try StandardOutput.write("")
        let head =
            columns.reduce("time".right(7)) { $0 + $1.name.right($1.width) } + "  what happened"
        try StandardOutput.write(terminal.paint(head, .dim))
    }

    func row(_ counts: [Int], _ what: String) throws {
        guard !isQuiet else { return }
        for line in lines(counts, what, on: Terminal.output) { try StandardOutput.write(line) }
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
