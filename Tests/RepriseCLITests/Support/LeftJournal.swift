import Foundation
import GRDB
import RepriseTestSupport
import RepriseTesting

extension TemporaryFolder {
    /// The path of a new journal of Ada's in the folder, as an app leaves it, with what `sql` adds.
    func leftJournal(_ sql: String = "") async throws -> String {
        _ = try await Tool.run(
            [
                "chat", "general", "--as", "ada", "--journal", path("j"), "--server",
                "http://127.0.0.1:1", "--patience", "0",
            ], input: Data("kept\n".utf8))
        let journal = path("j") + "/ada"
        let database = try DatabaseQueue(path: journal + "/journal.sqlite")
        try await database.write { db in try db.execute(sql: sql) }
        try database.close()
        return journal
    }
}
