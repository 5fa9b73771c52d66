import Foundation
import RepriseTestSupport
import Testing

@testable import RepriseCLI

/// Folders and journals that are somebody else's.
@Suite("--journal and --data: whose folder it is")
struct JournalPlaceTests {
    private func files(_ path: String) throws -> [String] {
        try #require(FileManager.default.subpaths(atPath: path)).filter { !$0.hasSuffix("-shm") }
            .sorted()
    }

    @Test(
        "no command that takes --journal writes into a server's data folder; those that would begin one say so"
    )
    func dataFolder() async throws {
        let scene = try await ChatScene()
        let published = try await Tool.run(
            "publish", "general", "x", "--as", "ada", "--server", scene.server.url)
        #expect(published.status == 0, "\(published.error)")
        let data = scene.server.data
        let server = ["--as", "ada", "--server", scene.server.url]
        let before = try files(data)
        for command in [
            ["listen", "general", "--until-complete"] + server,
            ["listen", "general", "--debug"] + server, ["chat", "general"] + server,
            ["ledger"], ["dead-letters"], ["dead-letters", "--discard", "a1"], ["reminders"],
            ["routes"], ["notices"], ["chains"], ["chains", "retry", "a1"],
            ["chains", "export", "a1"],
        ] {
            let result = try await Tool.run(command + ["--journal", data])
            #expect(result.status == 65, "\(command): \(result)")
            #expect(result.error.split(separator: "\n").count == 1, "\(command): \(result.error)")
            if ["listen", "chat"].contains(command[0]) {
                #expect(result.error.contains("data of a server"), "\(result.error)")
                #expect(result.error.contains("folder of its own"), "\(result.error)")
            }
            #expect(try files(data) == before, "\(command)")
        }
    }

    @Test("serve does not begin a log in the folder of a journal")
    func journalFolder() async throws {
        try await withServer { server, folder in
            let listened = try await Tool.run(
                "listen", "a", "--journal", folder.path("j"), "--server", server.url,
                "--until-complete")
            #expect(listened.status == 0, "\(listened.error)")
            let before = try files(folder.path("j"))
            let result = try await Tool.run("serve", "--port", "0", "--data", folder.path("j"))
            #expect(result.status == 65, "\(result)")
            #expect(result.error.contains("journal of a device"), "\(result.error)")
            #expect(try files(folder.path("j")) == before)
        }
    }

    @Test("a journal that is one user's is not listened to as another; the user goes on with it")
    func otherUser() async throws {
        let scene = try await ChatScene()
        func publish(_ text: String) async throws {
            let result = try await Tool.run(
                "publish", "general", text, "--as", "ada", "--server", scene.server.url)
            #expect(result.status == 0, "\(result.error)")
        }
        func listen(_ user: String, _ options: [String] = ["--until-complete"]) async throws
            -> Tool.Result
        {
            try await Tool.run(
                [
                    "listen", "general", "--as", user, "--server", scene.server.url, "--journal",
                    scene.folder.path("j"),
                ] + options)
        }
        try await publish("one")
        #expect(try await listen("ada").output == "1 ada: one\n")
        for options in [["--until-complete"], ["--debug"]] {
            let other = try await listen("bob", options)
            #expect(other.status == 65, "\(other)")
            #expect(other.output.isEmpty)
            #expect(other.error.contains("of the user ada, not of bob"), "\(other.error)")
            #expect(other.error.contains("Name another folder for bob"), "\(other.error)")
        }
        try await publish("two")
        #expect(try await listen("ada").output == "2 ada: two\n")
    }
}
