import Foundation
import GRDB
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI

@Suite("dead-letters")
struct DeadLettersTests {
    @Test(
        "a message that the server refuses is listed with its reason, and sent once it is retried")
    func retry() async throws {
        let folder = try TemporaryFolder()
        let chat = ["chat", "general", "--as", "ada", "--journal", folder.path("j"), "--server"]
        let journal = folder.path("j") + "/ada"
        let url = "http://127.0.0.1:1"
        let said = try await Tool.run(
            chat + [url, "--patience", "0"], input: Data("kept\n".utf8))
        #expect(said.status == 1)
        #expect(try await Tool.run("dead-letters", "--journal", journal).output.isEmpty)
        let above = try await Tool.run("dead-letters", "--journal", folder.path("j"))
        #expect(above.status == 65 && above.error.contains("“ada”"), "\(above)")

        // As a refusal leaves it.
        let database = try DatabaseQueue(path: journal + "/journal.sqlite")
        try await database.write { db in
            try db.execute(sql: "UPDATE entry SET state = 13, reason = 'forbidden\u{1b}[2J'")
        }
        try database.close()
        let shown = try await Tool.run("dead-letters", "--journal", journal)
        #expect(shown.output.contains("forbidden\\u{1b}[2J") && shown.output.contains("kept"))
        let listed = try await Tool.run("dead-letters", "--journal", journal, "--json")
        let line = try #require(
            try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [String: Any])
        let id = try #require(line["id"] as? String)
        #expect(line["channel"] as? String == "general")

        #expect(try await Tool.run("dead-letters", "--journal", journal, "--retry", id).status == 0)
        #expect(try await Tool.run("dead-letters", "--journal", journal).output.isEmpty)
        let server = try await ToolServer(data: folder.path("data"))
        let again = try RunningTool(chat + [server.url])
        // An open server asks nobody for a name.
        try await again.wait("it is sent") { $0.contains("1 somebody: kept\n") }
        again.closeInput()
        #expect(await again.end() == 0)
    }

    @Test("no journal, and no such dead letter, are bad input; nothing is made")
    func nothing() async throws {
        let folder = try TemporaryFolder()
        let none = try await Tool.run("dead-letters", "--journal", folder.path("none"))
        #expect(none.status == 65 && none.error.split(separator: "\n").count == 1)
        #expect(!FileManager.default.fileExists(atPath: folder.path("none")))
    }
}
