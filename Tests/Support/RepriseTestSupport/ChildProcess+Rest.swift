package import RepriseTesting

extension ChildProcess {
    /// The lines that it writes until it closes its output.
    package func restOfLines() -> [String] {
        var lines: [String] = []
        while let line = readLine() { lines.append(line) }
        return lines
    }
}
