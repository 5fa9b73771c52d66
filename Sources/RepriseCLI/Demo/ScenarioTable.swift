import RepriseCore

/// Scenarios below each other, apps beside each other: 80 columns for three of them.
struct ScenarioTable {
    typealias Cell = (text: String, colour: Terminal.Colour?)

    let terminal: Terminal
    private static let width = 13
    private static let title = 40

    func head(_ title: String, _ columns: [String]) -> String {
        terminal.paint(
            columns.reduce(title.left(Self.title)) { $0 + $1.right(Self.width) }, .bold)
    }

    func row(_ title: String, _ cells: [Cell]) -> String {
        cells.reduce(title.left(Self.title)) { line, cell in
            let text = cell.text.right(Self.width)
            return line + (cell.colour.map { terminal.paint(text, $0) } ?? text)
        }
    }
}

extension LedgerSum {
    /// As the sum that it is.
    var equation: String {
        let parts = Outcome.allCases.compactMap { outcome in
            outcomes[outcome].flatMap { $0 > 0 ? "\($0) \(outcome.rawValue)" : nil }
        }
        return "\(accepted) accepted = "
            + (parts + ["\(pending) pending"]).joined(separator: " + ")
            + (duplicates > 0 ? "; \(duplicates) came twice" : "")
    }

    /// For programs.
    var counts: [String: Int64] {
        outcomes.reduce(
            into: ["accepted": accepted, "pending": pending, "duplicates": duplicates]
        ) { $0[$1.key.rawValue] = $1.value }
    }

    /// Whether everything has ended as expected.
    func isSettled(as expected: [Outcome: Int64]) -> Bool {
        isBalanced && pending == 0 && outcomes.filter { $0.value > 0 } == expected
    }
}

/// Something that the demo plays by its name.
protocol NamedScenario: Sendable {
    static var all: [Self] { get }
    var name: String { get }
    var title: String { get }
}

extension NamedScenario {
    /// Those of these names; all, if none is named.
    static func picked(_ names: [String]) -> [Self] {
        all.filter { names.isEmpty || names.contains($0.name) }
    }

    static func list() throws {
        for scenario in all { try StandardOutput.write(scenario.name.left(24) + scenario.title) }
    }
}
