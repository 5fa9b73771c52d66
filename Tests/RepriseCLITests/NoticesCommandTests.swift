import Foundation
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("notices")
struct NoticesCommandTests {
    private func object(_ journal: String) async throws -> [String: Any] {
        let result = try await Tool.run("notices", "--journal", journal, "--json")
        #expect(result.status == 0, "\(result.error)")
        return try #require(
            try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any],
            "\(result.output)")
    }

    @Test("with --json a journal without tables is an object, too")
    func noTables() async throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("", to: "journal.sqlite")
        let object = try await object(folder.url.path)
        #expect(object["badge"] as? Int == 0 && object["total"] as? Int == 0, "\(object)")
        #expect((object["messages"] as? [Any])?.isEmpty == true, "\(object)")
    }

    @Test("the reasons of the counts are escaped: a disk may return anything")
    func escaped() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.leftJournal(
            #"INSERT INTO noticesCount (what, count) VALUES ('a"b\', 7)"#)
        let counts = try await object(journal)["counts"] as? [String: Any]
        #expect(counts?[#"a"b\"#] as? Int == 7, "\(counts ?? [:])")
    }
}
