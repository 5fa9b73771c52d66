import Foundation
import GRDB
import RepriseTesting

extension EngineFixture {
    static func sqlite(_ sql: String, _ folder: TemporaryFolder) throws {
        let queue = try DatabaseQueue(path: folder.appending("journal.sqlite").path)
        try queue.writeWithoutTransaction { db in try db.execute(sql: sql) }
        try queue.close()
    }
}
