import Foundation
import RepriseTestSupport
import Testing

@Suite("Documentation")
struct DocumentationTests {
    /// Apple's macros: these are compiled elsewhere, or not.
    private static let elsewhere = ["@ModelfinalclassGoal{"]

    /// Here the examples are played, too.
    private static let played = [
        "Tests/RepriseChainsTests/ChainsDocumentedTests.swift",
        "Tests/RepriseRemindersTests/DatabaseReminderStoreTests.swift",
        "Tests/RepriseRemindersTests/RemindersDocumentationTests.swift",
        "Tests/RepriseTests/DocumentedTests.swift",
        "Tests/RepriseTests/ReadingArticleTests.swift", "Examples/Courier/App/CourierApp.swift",
        "Examples/Courier/NotificationService/NotificationService.swift",
        "Examples/Hello/Hello.swift",
    ]

    @Test("every example in Swift stands word for word in what is compiled, here or by check-apple")
    func examples() throws {
        let played = Self.played.map { Command.root.appending(path: $0) }
        let sources = try (Self.files(in: "Tests/RepriseDocumentationTests", of: "swift") + played)
            .map {
                Self.normal(
                    try String(contentsOf: $0, encoding: .utf8).components(separatedBy: "\n"))
            }
        let pages =
            [Command.root.appending(path: "README.md")]
            + (try Self.files(in: "docs", of: "md"))
        var count = 0
        for page in pages {
            for (line, example) in try Self.examples(in: page) {
                count += 1
                let isCompiled = sources.contains { $0.contains(example) }
                let isElsewhere = Self.elsewhere.contains { example.contains($0) }
                #expect(
                    isCompiled || isElsewhere,
                    "\(page.lastPathComponent):\(line) is in no file of the tests")
            }
        }
        #expect(count > 30, "the pages were not found")
    }

    /// How many lines it has, scripts/check-courier says.
    @Test("the page on screens begins with a whole app's glue word for word")
    func courier() throws {
        let page = Command.root.appending(path: "docs/ui.md")
        let app = try String(
            contentsOf: Command.root.appending(path: "Examples/Courier/App/CourierApp.swift"),
            encoding: .utf8)
        let fenced = try String(contentsOf: page, encoding: .utf8)
            .components(separatedBy: "```swift\n").dropFirst().first?
            .components(separatedBy: "```").first
        #expect(fenced == app)
    }

    /// What stands between the fences, with the line of each opening fence.
    private static func examples(in page: URL) throws -> [(line: Int, text: String)] {
        var found: [(Int, String)] = []
        var open: (line: Int, text: [String])?
        let text = try String(contentsOf: page, encoding: .utf8)
        for (number, line) in text.components(separatedBy: "\n").enumerated() {
            let fence = line.trimmingCharacters(in: .whitespaces)
            if let example = open {
                guard fence.hasPrefix("```") else {
                    open?.text.append(line)
                    continue
                }
                found.append((example.line, normal(example.text)))
                open = nil
            } else if fence == "```swift" {
                open = (number + 1, [])
            }
        }
        return found
    }

    /// Without imports, which stand elsewhere in a file, and without white space: lines break where
    /// there is room.
    private static func normal(_ lines: [String]) -> String {
        lines.filter { !$0.hasPrefix("import ") }.joined().filter { !$0.isWhitespace }
    }

    private static func files(in folder: String, of type: String) throws -> [URL] {
        let all = FileManager.default.enumerator(
            at: Command.root.appending(path: folder), includingPropertiesForKeys: nil)
        return (all?.allObjects as? [URL] ?? []).filter { $0.pathExtension == type }
    }
}
