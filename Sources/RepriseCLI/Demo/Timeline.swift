import RepriseCore

/// Prints what happens, as it happens, with how far everybody is.
struct Timeline: Sendable {
    private let start = ContinuousClock.now
    private let isQuiet: Bool

    init(isQuiet: Bool) { self.isQuiet = isQuiet }

    var elapsed: Duration { .now - start }

    func title(_ lines: [String]) throws {
        guard !isQuiet else { return }
        let terminal = Terminal.output
        try StandardOutput.write(terminal.paint(lines[0], .bold))
        for line in lines.dropFirst() { try StandardOutput.write(line) }
        try StandardOutput.write("")
        let head =
            "time".right(7) + "stored".right(9) + "reprise".right(9) + "naive".right(9)
            + "  what happened"
        try StandardOutput.write(terminal.paint(head, .dim))
    }

    func row(stored: Int, ours: Int, naive: Int, _ what: String) throws {
        guard !isQuiet else { return }
        let numbers =
            elapsed.shown.right(7) + stored.grouped.right(9) + ours.grouped.right(9)
            + naive.grouped.right(9)
        let isKill = what.hasPrefix("SIGKILL")
        try StandardOutput.write(
            numbers + "  " + (isKill ? Terminal.output.paint(what, .red) : what))
    }
}
