import Foundation
import RepriseTestSupport
import Testing

/// What a chat bears: docs/limits.md, The command line.
@Suite("Bounds of chat", .timeLimit(.minutes(2)))
struct ChatBoundTests {
    @Test(
        "however fast one types, the screen is drawn 30 times a second at most",
        .limit("tool.drawing"))
    func drawing() async throws {
        let scene = try await ChatScene()
        let ada = try PseudoTerminal(scene.arguments("ada"))
        try await ada.wait("live") { $0.contains { $0.contains("· live") } }
        let (before, start) = (ada.drawings, ContinuousClock.now)
        for _ in 0..<200 {
            ada.type("x")
            try await Task.sleep(for: .milliseconds(1))  // as fast as no person types
        }
        ada.type("!")
        try await ada.wait("all of it is drawn") { $0.contains { $0.contains("x!") } }
        let most = (ContinuousClock.now - start) / .milliseconds(33) + 2
        #expect(Double(ada.drawings - before) <= most)
        ada.type("\u{15}\u{4}")
        #expect(await ada.end() == 0)
    }

    @Test(
        "of a long conversation the newest 200 messages are on the screen, however high it is",
        .limit("tool.chat"))
    func shown() async throws {
        let scene = try await ChatScene()
        let lines = (1...205).map { "line \($0).\n" }.joined()
        let published = try await Tool.run(
            ["publish", "general", "--as", "bob", "--server", scene.server.url],
            input: Data(lines.utf8))
        #expect(published.status == 0, "\(published.error)")
        let ada = try PseudoTerminal(scene.arguments("ada"), height: 240)
        try await ada.wait("all has come") { rows in
            rows.contains { $0.contains("· live") } && rows.times("line 205.") == 1
        }
        #expect(ada.rows.times("line ") == 200)
        #expect(ada.rows.times("line 5.") == 0 && ada.rows.times("line 6.") == 1)
        ada.type("\u{4}")
        #expect(await ada.end() == 0)
    }
}
