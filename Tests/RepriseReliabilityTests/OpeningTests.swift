import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseServer
import RepriseTesting
import Testing

/// What `make damage` found about openings.
@Suite("Opening what a kill or a damage left behind")
struct OpeningTests {
    @Test("A server's log that was killed before its first migration is a new log")
    func logBegun() async throws {
        let folder = try TemporaryFolder()
        let queue = try DatabaseQueue(path: folder.appending("messages.sqlite").path)
        try await queue.write { db in
            try db.execute(
                sql: "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
        }
        try queue.close()
        let log = try SQLiteMessageLog.open(at: folder.url.path)
        try await log.probe()
        await log.close()
    }

    @Test("A journal whose list of migrations has rotted is proved damaged, and set aside")
    func rottenMigrations() async throws {
        let folder = try TemporaryFolder()
        let kinds = [EntryKind("kind")]
        let journal = try await Journal.open(at: folder.url, kinds: kinds)
        await journal.close()
        let queue = try DatabaseQueue(path: folder.appending("journal.sqlite").path)
        try await queue.write { db in
            // A NULL where the table forbids one: that only damage can bring about.
            try db.execute(
                sql: """
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '')
                    WHERE name = 'grdb_migrations';
                    """)
        }
        try queue.close()
        let again = try DatabaseQueue(path: folder.appending("journal.sqlite").path)
        try await again.write { db in
            try db.execute(
                sql: """
                    INSERT INTO grdb_migrations VALUES (NULL);
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema
                    SET sql = replace(sql, 'identifier TEXT', 'identifier TEXT NOT NULL')
                    WHERE name = 'grdb_migrations';
                    """)
        }
        try again.close()
        let opened = try await Journal.open(at: folder.url, kinds: kinds)
        #expect(opened.opening.setAside != nil)
        #expect(try await opened.record(NewEntry(kind: "kind", payload: [])) == .accepted)
        await opened.close()
    }
}
