import RepriseTestSupport
import Testing

@Suite("history")
struct HistoryTests {
    private static let choices: [(options: [String], expected: ClosedRange<Int>)] = [
        ([], 11...30), (["--last", "25"], 6...30), (["--limit", "2"], 29...30),
        (["--limit", "25"], 6...30), (["--last", "5", "--limit", "2"], 29...30),
        (["--after", "3", "--limit", "2"], 4...5), (["--after", "28"], 29...30),
    ]

    @Test("prints the newest 20, the newest so many, or so many behind a sequence")
    func prints() async throws {
        try await withServer { server, folder in
            let file = try folder.write((1...30).map { "\($0)\n" }.joined(), to: "lines")
            let published = try await Tool.run(
                "publish", "a", "--file", file, "--server", server.url)
            try #require(published.status == 0, "\(published.error)")
            for choice in Self.choices {
                let answer = try await Tool.run(
                    ["history", "a", "--server", server.url] + choice.options)
                let sequences = answer.lines.compactMap { $0.split(separator: " ").first }
                #expect(
                    sequences.map(String.init) == choice.expected.map(String.init),
                    "\(choice.options)")
            }
        }
    }
}
