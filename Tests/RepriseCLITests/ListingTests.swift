import RepriseCommandLine
import RepriseTestSupport
import Testing

@testable import RepriseCLI

@Suite("tables of the server")
struct ListingTests {
    @Test("a row takes one line of a terminal, with an ellipsis; another program gets it whole")
    func widths() async throws {
        let scene = try await ChatScene()
        let name = "team-" + String(repeating: "x", count: 90)
        let title = String(repeating: "日本", count: 30)
        let person = ["--as", "ada", "--server", scene.server.url]
        for channel in [name, "short"] {
            let made = try await Tool.run(
                ["channels", channel, "--title", title, "--keep-days", "30"] + person)
            #expect(made.status == 0, "\(made.error)")
        }
        let whole = try await Tool.run(["channels"] + person)
        #expect(whole.output.contains(name) && whole.output.contains(title))
        let terminal = try PseudoTerminal(["channels"] + person)
        #expect(await terminal.end() == 0)
        let rows = terminal.text.split(whereSeparator: \.isNewline).map(String.init)
        #expect(rows.count == 3)
        for row in rows { #expect(row.columns <= 80, "\(row)") }
        // As a person reads an empty list.
        let empty = try PseudoTerminal(["channels", "--as", "eve"] + person.dropFirst(2))
        #expect(await empty.end() == 0)
        #expect(empty.text.contains("There is nothing to list."))
        for row in rows.dropFirst() { #expect(row.contains("…") && row.contains("30d"), "\(row)") }
    }
}
