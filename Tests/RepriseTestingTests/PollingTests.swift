import RepriseTestSupport
import Testing

@Suite("Polling")
struct PollingTests {
    @Test("a condition that comes to hold ends the wait")
    func holds() async throws {
        var count = 0
        try await eventually("it holds") {
            count += 1
            return count == 3
        }
        #expect(count == 3)
    }

    @Test("a condition that never holds fails the test at its deadline, and says what there was")
    func never() async throws {
        try await withKnownIssue {
            try await becomes("the number", 2, within: .milliseconds(20)) { 1 }
        } matching: { issue in
            issue.comments.contains("the number: 1, not 2")
        }
    }

    @Test("a command that does not end is killed")
    func killed() async throws {
        let (status, _) = try await Command.run("sleep", ["60"], within: .milliseconds(50))
        #expect(status == 9)
    }

    @Test("a command says all its words and its status")
    func words() async throws {
        let (status, words) = try await Command.run("sh", ["-c", "echo a; echo b >&2; exit 3"])
        #expect(status == 3 && words == "a\nb\n")
    }
}
