import Foundation
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

/// What the check needs: a browser, and the environment that `make setup` makes.
private enum AxeCheck {
    static let isPossible =
        Chromium.find() != nil && FileManager.default.fileExists(atPath: Command.python.path)
}

/// What we ship as HTML, looked at by axe: Tests/Support/axe/check.py.
@Suite(
    "forms, checked by axe", .serialized, .timeLimit(.minutes(1)),
    .enabled(if: AxeCheck.isPossible))
struct FormsAccessibilityTests {
    private static let samples = "Tests/Support/axe/forms.json"

    /// Runs the check on pages of a preview.
    private static func check(
        _ file: String, _ paths: [String], theme: String? = nil, _ arguments: [String] = []
    ) async throws -> (status: Int32, words: String) {
        let file = Command.root.appending(path: file).path
        let tool = try RunningTool(
            ["forms", "preview", file] + (theme.map { ["--theme", $0] } ?? []))
        try await eventually("it says its address") { tool.output.hasSuffix("/\n") }
        let url = String(tool.output.dropLast(2))
        let script = Command.root.appending(path: "Tests/Support/axe/check.py").path
        let result = try await Command.run(
            Command.python.path,
            [script] + arguments + [Chromium.find() ?? ""] + paths.map { url + $0 },
            within: .seconds(50))
        tool.signal(SIGINT)
        #expect(await tool.end() == 0)
        return result
    }

    @Test("no form violates a rule: all that a form may have, and the least; nor does the preview")
    func samples() async throws {
        let result = try await Self.check(
            Self.samples,
            ["/", "/page?form=everything", "/page?form=picture", "/page?form=least"])
        #expect(result.status == 0, "\(result.words)")
        #expect(result.words.components(separatedBy: ": 0 violated").count == 9)
    }

    @Test("nor does one in a theme, or that of the example app")
    func others() async throws {
        let folder = try TemporaryFolder()
        let theme = try folder.write(
            """
            {"light": {"paper": "#fffaf0", "accent": "#00695c"}, "corner": 0, "fontScale": 2,
             "dark": {"accent": "#80cbc4", "onAccent": "#00201c"}}
            """, to: "theme.json")
        let themed = try await Self.check(
            Self.samples, ["/page?form=everything"], theme: theme)
        #expect(themed.status == 0, "\(themed.words)")
        let first = try Self.first()
        let example = try await Self.check(
            "Examples/Courier/forms.json", ["/page?form=\(first)"])
        #expect(example.status == 0, "\(example.words)")
    }

    private static func first() throws -> String {
        let file = Command.root.appending(path: "Examples/Courier/forms.json")
        let catalogue =
            try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        let forms = try #require(catalogue?["forms"] as? [[String: Any]])
        return try #require(forms.first?["id"] as? String)
    }

    @Test("a form whose labels are taken away is found out")
    func unlabelled() async throws {
        let result = try await Self.check(
            Self.samples, ["/page?form=everything"], ["--without-labels"])
        #expect(result.status == 1)
        #expect(result.words.contains("  label: "), "\(result.words)")
    }
}
