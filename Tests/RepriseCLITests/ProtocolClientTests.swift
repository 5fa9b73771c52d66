import Foundation
import RepriseCommandLine
import RepriseTestSupport
import Testing

@testable import RepriseCLI

/// Tests/Support/protocol/client.py knows docs/protocol.md, and none of our code.
@Suite("A client in another language, from the documents alone", .timeLimit(.minutes(2)))
struct ProtocolClientTests {
    private static let client = Command.root.appending(path: "Tests/Support/protocol/client.py")

    /// What the client prints of each message that is new.
    private struct Message: Decodable, Hashable {
        let seq: Int64
        let id: String
    }

    private struct State: Codable {
        var device: String
        var epoch: String
        var coverage: [[Int64]]
        var messages: [String: Int64]
        var outbox: [[String: String]]
    }

    private func run(_ scene: ChatScene, saying text: String, cut: Int? = nil) async throws
        -> [Message]
    {
        let (process, input, output) = (Process(), Pipe(), scene.folder.path("output"))
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            [
                "python3", Self.client.path,
                scene.server.url.replacing("http:", with: "ws:") + "/v1/connect", "general",
                scene.folder.path("state"),
            ] + (cut.map { ["--cut", "\($0)"] } ?? [])
        process.standardInput = input
        process.standardOutput = try scene.folder.file("output")
        let (ended, continuation) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = {
            continuation.yield($0.terminationStatus)
            continuation.finish()
        }
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
        for await status in ended { #expect(status == 0) }
        return try Data(contentsOf: URL(fileURLWithPath: output)).split(separator: 10).map {
            try JSONDecoder().decode(Message.self, from: $0)
        }
    }

    @Test(
        "a client catches up through cuts, publishes each line once, and asks for exactly its holes"
    )
    func cuts() async throws {
        let scene = try await ChatScene(options: [])
        let lines = (1...60).map { "line \($0)\n" }.joined()
        let published = try await Tool.run(
            ["publish", "general", "--server", scene.server.url], input: Data(lines.utf8))
        #expect(published.status == 0, "\(published.error)")

        // Cut every ten frames; each time what the coverage lacks comes, and nothing else.
        let first = try await run(scene, saying: "a\nb\nc\nd\n", cut: 10)
        #expect(Set(first.map(\.id)).count == first.count)
        let history = try await Tool.run(
            "history", "general", "--after", "0", "--json", "--server", scene.server.url)
        let stored = try history.lines.map {
            try JSONDecoder().decode(Message.self, from: Data($0.utf8))
        }
        #expect(stored.count == 64)
        #expect(Set(first).isSubset(of: stored) && first.count >= 60)
        let said = try history.lines.suffix(4).map { line in
            ChatBody(try HTTPMembers(Array(line.utf8)).raw("body") ?? []).text
        }
        #expect(said == ["a", "b", "c", "d"])

        // It forgets what it had between, and has nothing of it twice.
        let file = URL(fileURLWithPath: scene.folder.path("state"))
        var state = try JSONDecoder().decode(State.self, from: Data(contentsOf: file))
        state.coverage = [[0, 10], [15, 30], [31, 50]]
        let covered = Array(1...10) + Array(16...30) + Array(32...50)
        state.messages = state.messages.filter { covered.contains(Int($0.value)) }
        try JSONEncoder().encode(state).write(to: file)
        let second = try await run(scene, saying: "")
        #expect(second.map { Int($0.seq) }.sorted() == Array(11...15) + [31] + Array(51...64))
    }
}
