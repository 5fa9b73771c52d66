import RepriseCommandLine
import RepriseCore

/// Prints a list that the server gives page by page.
///
/// A row takes one line of a person's terminal: what does not fit ends with an ellipsis. Other
/// programs get everything.
struct Listing: Sendable {
    /// The columns of a cell that are never taken away.
    private static let narrowest = 8

    let isJSON: Bool
    let header: [String]
    let cells: @Sendable (HTTPMembers) -> [String]

    /// Prints everything.
    ///
    /// Each page is printed as it comes; the widths of a table are those of its first page.
    ///
    /// - Parameters:
    ///   - api: the server.
    ///   - path: of the list.
    ///   - name: the response's member with the list.
    /// - Throws: errors of the server and the output.
    func print(from api: ServerAPI, _ path: [String], _ name: String) async throws {
        var after: String?
        var widths: [Int]?
        repeat {
            guard
                let page = try await api.send(
                    "GET", path, query: ["after": after, "limit": "200"])
            else { return }
            let elements = try page.list(name)
            if elements.isEmpty, after == nil, !isJSON {
                Self.tellEmpty()
            } else if isJSON {
                for element in elements { try StandardOutput.write(HTTPMembers.line(element)) }
            } else {
                let rows = try elements.map { cells(try api.members($0)).map(\.printable) }
                try write(rows, &widths)
            }
            let next = page.text("next")
            // Else it asked for the same page without end.
            guard next == nil || next != after else { throw api.notReprise }
            after = next
        } while after != nil
    }

    /// Only a person needs the word for an empty list.
    static func tellEmpty() {
        guard Terminal.output.isInteractive else { return }
        Terminal.error.writeLine("There is nothing to list.")
    }

    /// Prints what is known already.
    func print(_ rows: [[String]]) throws {
        var widths: [Int]?
        try write(rows.map { $0.map(\.printable) }, &widths)
    }

    private func write(_ rows: [[String]], _ widths: inout [Int]?) throws {
        let known =
            widths
            ?? Self.fitting(
                header.indices.map { column in
                    ([header] + rows).map { $0[column].columns }.max() ?? 0
                })
        if widths == nil, !rows.isEmpty {
            try StandardOutput.write(Terminal.output.paint(line(header, known), .dim))
        }
        widths = known
        for row in rows { try StandardOutput.write(line(row, known)) }
    }

    /// Takes from the widest columns what does not fit into the terminal.
    private static func fitting(_ widths: [Int]) -> [Int] {
        guard Terminal.output.isInteractive else { return widths }
        var widths = widths
        let room = Terminal.output.size.width - 2 * (widths.count - 1)
        while widths.reduce(0, +) > room, let widest = widths.max(), widest > narrowest {
            widths[widths.lastIndex(of: widest) ?? 0] -= 1
        }
        return widths
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        let padded = zip(cells, widths).map { cell, width in
            let cell = Terminal.output.isInteractive ? cell.fitting(width) : cell
            return cell + String(repeating: " ", count: max(0, width - cell.columns))
        }
        var line = padded.joined(separator: "  ")
        while line.last == " " { line.removeLast() }
        return line
    }
}
