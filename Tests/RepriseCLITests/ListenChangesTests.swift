import Foundation
import RepriseTestSupport
import Testing

@testable import RepriseCLI

/// What is said of messages that change earlier ones.
@Suite("listen, history: edits and deletions")
struct ListenChangesTests {
    /// One message that is edited, one that is deleted, and one for which nothing happens.
    private func scene() async throws -> ChatScene {
        let scene = try await ChatScene()
        try await scene.post(#"{"id":"a1","body":"one"}"#, as: "ada")
        try await scene.post(#"{"id":"a2","body":"two"}"#, as: "ada")
        try await scene.post(#"{"id":"a3","edits":"a1","body":"ONE"}"#, as: "ada")
        try await scene.post(#"{"id":"b1","body":"from bob"}"#, as: "bob")
        return scene
    }

    private func listen(_ scene: ChatScene, _ journal: String, _ options: [String] = [])
        async throws -> Tool.Result
    {
        try await Tool.run(
            [
                "listen", "general", "--as", "eve", "--server", scene.server.url, "--journal",
                scene.folder.path(journal), "--until-complete",
            ] + options)
    }

    @Test("listen prints the author, and marks edits and deletions, with their target")
    func text() async throws {
        let scene = try await scene()
        let before = try await listen(scene, "j")
        #expect(
            before.lines == ["1 ada: one", "2 ada: two", "3 ada: (edits 1) ONE", "4 bob: from bob"])
        try await scene.post(#"{"id":"a5","deletes":"a2"}"#, as: "ada")
        #expect(try await listen(scene, "j").lines == ["5 ada: (deletes 2)"])
        // Somebody new gets what is deleted without its words, and is told why.
        #expect(
            try await listen(scene, "new").lines == [
                "1 ada: one", "2 ada: (deleted)", "3 ada: (edits 1) ONE", "4 bob: from bob",
                "5 ada: (deletes 2)",
            ])
    }

    @Test("--json has from, edits, deletes and deleted beside the keys that were there")
    func json() async throws {
        let scene = try await scene()
        try await scene.post(#"{"id":"a5","deletes":"a2"}"#, as: "ada")
        let result = try await listen(scene, "j", ["--json"])
        let lines = try result.lines.map { line in
            try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(lines.map { $0["from"] as? String } == ["ada", "ada", "ada", "bob", "ada"])
        #expect(lines.map { $0["edits"] as? Int } == [nil, nil, 1, nil, nil])
        #expect(lines.map { $0["deletes"] as? Int } == [nil, nil, nil, nil, 2])
        #expect(lines.map { $0["deleted"] as? Bool } == [nil, true, nil, nil, nil])
        for line in lines {
            #expect(
                Set(["channel", "seq", "id", "body", "attempt"]).isSubset(of: line.keys), "\(line)")
        }
    }

    @Test("history and the chat without a terminal say it with the same words")
    func siblings() async throws {
        let scene = try await scene()
        try await scene.post(#"{"id":"a5","deletes":"a2"}"#, as: "ada")
        let history = try await Tool.run(
            "history", "general", "--as", "eve", "--server", scene.server.url)
        let words = history.lines.compactMap {
            $0.split(separator: " ", maxSplits: 4).last.map(String.init)
        }
        #expect(words == ["one", "(deleted)", "(edits 1) ONE", "from bob", "(deletes 2)"])
        let chat = try RunningTool(scene.arguments("eve"))
        try await chat.wait("all of it") { $0.contains("(deletes 2)\n") }
        #expect(
            chat.output.split(separator: "\n") == [
                "1 ada: one", "2 ada: (deleted)", "3 ada: (edits 1) ONE", "4 bob: from bob",
                "5 ada: (deletes 2)",
            ])
        chat.closeInput()
        #expect(await chat.end() == 0)
    }
}
