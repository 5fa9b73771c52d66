import Foundation
import GRDB
package import RepriseCore
package import RepriseJournal
import Synchronization

/// Journals that are open and empty, for runs that are too small to make files for.
///
/// To open a journal, with its tables, its inspection and the statements that its connection
/// learns, takes longer than a small run. So a device of such a run is given one that another run
/// is done with; its lives take it over from each other by the transaction of the shipping opening.
/// What they read and write is the shipping journal on SQLite as ever.
package final class JournalStock: Sendable {
    /// An open journal; its files have no names any more, so that nothing is left of it however
    /// this process ends.
    struct Item: Sendable {
        let folder: URL
        let journal: SteppedJournal
    }

    private let kinds: [EntryKind]
    private let schemas: [JournalSchema]
    private let idle = Mutex<[Item]>([])

    package init(kinds: [EntryKind], schemas: [JournalSchema]) {
        (self.kinds, self.schemas) = (kinds, schemas + [GRDBTransaction.schema])
    }

    func take() throws -> Item {
        if let item = idle.withLock({ $0.popLast() }) { return item }
        let memory = "/dev/shm"
        let isThere = FileManager.default.isWritableFile(atPath: memory)
        let folder =
            (isThere
            ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory)
            .appendingPathComponent("reprise-stock-\(EntryID.random())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let item = Item(
            folder: folder,
            journal: try SteppedJournal(
                at: folder, kinds: kinds, schemas: schemas, configuration: .init()))
        // Nobody else opens it, and its files end with this process: its connection keeps its
        // locks, writes in place and syncs nothing, which is half of what a run asks of the system.
        try item.journal.pool.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE;
                    PRAGMA synchronous = OFF
                    """)
        }
        try item.empty()
        return item
    }

    func giveBack(_ item: Item) {
        guard (try? item.empty()) != nil else { return item.journal.abandon() }
        idle.withLock { $0.append(item) }
    }
}

extension JournalStock.Item {
    /// As right after the migrations.
    fileprivate func empty() throws {
        try journal.pool.write { db in
            let tables = try String.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT name FROM sqlite_schema WHERE type = 'table'
                        AND name NOT LIKE 'sqlite%' AND name <> 'grdb_migrations' ORDER BY name
                        """))
            for table in tables {
                try db.cachedStatement(sql: "DELETE FROM \"\(table)\"").execute()
            }
            try db.cachedStatement(
                sql: """
                    INSERT INTO journal (one, incarnation, accepted, duplicates, rejected, doubted)
                    VALUES (1, 0, 0, 0, 0, 0)
                    """
            ).execute()
        }
    }
}
