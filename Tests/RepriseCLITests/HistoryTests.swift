import RepriseTestSupport
import Testing

@Suite("history")
struct HistoryTests {
    private static let choices: [(options: [String], expected: ClosedRange<Int>)] = [
        ([], 11...30), (["--last", "25"], 6...30), (["--limit", "2"], 29...30),
        (["--limit", "25"], 6...30), (["--last", "5", "--limit", "2"], 29...30),
        (["--after", "3", "--limit", "2"], 4...5), (["--after", "28"], 29...30),
    ]

    @Test("A server's own advice is not said twice", arguments: ["Try again.", "Come back soon."])
    func advice(words: String) async throws {
        let body = #"{"error":{"code":"unavailable","message":"It is not there. \#(words)"}}"#
        let server = try OtherServer(
            answering: "HTTP/1.1 503 X\r\nContent-Type: application/json\r\nConnection: close\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let answer = try await Tool.run("history", "a", "--server", server.url)
        #expect(answer.status == 69)
        #expect(answer.error.hasSuffix("It is not there. \(words)\n"), "\(answer.error)")
    }

    @Test("A head at the bounds of numbers is none")
    func bounds() async throws {
        let body = #"{"channelId":"a","head":-9223372036854775808,"messages":[]}"#
        let server = try OtherServer(
            answering: "HTTP/1.1 200 X\r\nContent-Type: application/json\r\nConnection: close\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let answer = try await Tool.run("history", "a", "--server", server.url)
        #expect(answer.status == 0, "\(answer)")
        #expect(answer.error == "reprise: Nothing was published to a yet.\n")
    }

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

    @Test("tells a channel without messages from a name that nobody uses, and nothing to others")
    func empty() async throws {
        let scene = try await ChatScene()
        try await scene.makePrivate()
        func history(_ words: String...) async throws -> Tool.Result {
            let result = try await Tool.run(
                ["history"] + words + ["--server", scene.server.url])
            #expect(result.output.isEmpty)
            return result
        }
        let made = try await history("general", "--as", "root")
        #expect(made.status == 0)
        #expect(made.error == "reprise: Nothing was published to general yet.\n")
        let unknown = try await history("nowhere", "--as", "root")
        #expect(unknown.status == 65 && unknown.error.contains("to nowhere"), "\(unknown)")
        // Others have made it, and it is for everybody.
        let hall = try await Tool.run(
            "channels", "hall", "--visibility", "public", "--as", "root", "--server",
            scene.server.url)
        #expect(hall.status == 0, "\(hall.error)")
        for user in ["root", "eve"] {
            let shared = try await history("hall", "--as", user)
            #expect(shared.status == 0)
            #expect(shared.error == "reprise: Nothing was published to hall yet.\n")
        }
        let other = try await history("general", "--as", "eve")
        #expect(other.status == 76)
        #expect(
            other.error
                == "reprise: Not for this user, or there is no such channel. "
                + "Check --as or --token, and the channel's name.\n")
        try await scene.post(#"{"body":{"text":"hello"}}"#, as: "root")
        let behind = try await history("general", "--as", "root", "--after", "9")
        #expect(behind.status == 0)
        #expect(behind.error == "reprise: general has nothing behind 9; its newest is 1.\n")
    }
}
