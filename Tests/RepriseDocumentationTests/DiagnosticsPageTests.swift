import Foundation
import RepriseTestSupport
import Testing

/// Compares the events of docs/diagnostics.md with those of the code.
@Suite("The page on diagnostics")
struct DiagnosticsPageTests {
    private static func sources() throws -> [String] {
        let all = FileManager.default.enumerator(
            at: Command.root.appending(path: "Sources"), includingPropertiesForKeys: nil)
        return try (all?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }
    }

    /// The rows of the table of events: the event, and the keys of the last column.
    private static func rows() throws -> [(event: String, keys: [String])] {
        let page = try String(
            contentsOf: Command.root.appending(path: "docs/diagnostics.md"), encoding: .utf8)
        return page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 2, cells[0].hasPrefix("`"), cells[0].hasSuffix(".`") else {
                return nil
            }
            // What follows a key in parentheses or behind a colon are its values.
            let plain = cells[1].replacing(/\([^)]*\)/, with: "").prefix { $0 != ":" }
            let keys = plain.matches(of: /`([A-Za-z]+)`/).map { String($0.1) }
            return (cells[0].trimmingCharacters(in: ["`"]), keys)
        }
    }

    @Test("each event of the table is logged by a file that has its keys")
    func table() throws {
        let (sources, rows) = (try Self.sources(), try Self.rows())
        #expect(rows.count > 20, "the table was not found")
        for row in rows {
            let files = sources.filter { $0.contains("\"\(row.event)\"") }
            #expect(!files.isEmpty, "nothing logs “\(row.event)”")
            for key in row.keys where !["none", "connection", "reader"].contains(key) {
                let isThere = files.contains { $0.contains("\"\(key)\"") }
                #expect(isThere, "“\(row.event)” has no \(key)")
            }
        }
    }

    @Test("each sentence that the code logs at debug or trace stands in the table")
    func code() throws {
        let known = Set(try Self.rows().map(\.event))
        // Of entries and channels, which docs/client.md tells of.
        let others = [
            "An entry is recorded.", "An entry is dispatched again later.",
            "A channel is in another state.",
        ]
        var count = 0
        for source in try Self.sources() {
            for match in source.matches(
                of: /\.(?:debug|trace),\s*(?:\w+ == nil \? )?"([A-Z][^"]*\.)"(?: : "([^"]*)")?/)
            {
                for event in [String(match.1), match.2.map { String($0) }].compactMap(\.self)
                where !others.contains(event) {
                    count += 1
                    #expect(known.contains(event), "“\(event)” stands in no row")
                }
            }
        }
        #expect(count > 12, "the events were not found")
    }
}
