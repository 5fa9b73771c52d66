import Foundation
import GRDB
import RepriseCore
import RepriseWire

/// Copies what a server stores from the two files of a data folder into a view, and back.
///
/// The tables are the same but for what a gateway notes for itself, and for the progress of pushes:
/// see ``PushProgress``.
enum ViewCopy {
    /// The accounts' tables that a view fills by itself, or keeps in another form.
    private static let ownTables: Set<String> = [
        "its_log", "push_services", "push_walks", "push_queue",
    ]

    /// Makes a view of a data folder, whose files this process has locked.
    ///
    /// Equal data makes an equal view. Its time is that of the newest message, unless that is in
    /// the future.
    ///
    /// - Returns: the base that the file is, without pieces.
    static func makeView(
        at file: URL, of data: String, epoch: Epoch, sequence: Int64, now: WallTime
    ) throws -> BaseManifest {
        try change(file, .view, ClusterSchema.migrator(epoch: epoch)) { queue in
            let sources = [ServerDatabase.log, .accounts].map { ($0.file, path($0, in: data)) }
            return try attaching(sources, to: queue) { db in
                for (name, _) in sources { try copyTables(from: name, except: ownTables, db) }
                try db.execute(sql: pushProgress)
                try ClusterRules.set(ClusterRules.newest, db)
                let newest = try Int64.fetchOne(db, sql: "SELECT max(time) FROM heads") ?? 0
                let limit = now.advanced(by: ClusterLimits.clockDifference)
                let time = newest <= limit.milliseconds ? WallTime(milliseconds: newest) : now
                // In place of the entries that made it elsewhere.
                let digest = JournalDigest.zero.appending(
                    StoredEntry(sequence: sequence, stamp: time, bytes: Array(epoch.text.utf8)))
                try db.execute(
                    sql: """
                        INSERT INTO applied (one, sequence, digest, time) VALUES (1, ?1, ?2, ?3);
                        """, arguments: [sequence, Data(digest.bytes), time.milliseconds])
                try db.execute(
                    sql: "INSERT INTO entries (sequence, digest, time) VALUES (?, ?, ?)",
                    arguments: [sequence, Data(digest.bytes), time.milliseconds])
                return BaseManifest(
                    position: JournalPosition(sequence: sequence, digest: digest), time: time,
                    content: [])
            }
        }
    }

    /// Makes the two files of a data folder of a view.
    static func makeData(in place: String, of view: String, epoch: Epoch) throws -> Backup.Report {
        let source = [("view", path(.view, in: view))]
        let report = try change(
            URL(fileURLWithPath: path(.log, in: place)), .log,
            LogSchema.migrator(newEpoch: { epoch })
        ) { queue in
            try attaching(source, to: queue) { db in
                try copyTables(from: "view", except: [], db)
                try LogSchema.setEpoch(epoch, db)
            }
            return try queue.read { try Backup.report($0) }
        }
        try change(
            URL(fileURLWithPath: path(.accounts, in: place)), .accounts, AccountsSchema.migrator()
        ) { queue in
            try attaching(source, to: queue) { db in
                try copyTables(from: "view", except: ownTables, db)
                try db.execute(
                    sql: """
                        INSERT INTO push_services SELECT service FROM view.pushed_services;
                        INSERT INTO push_walks (service, channel, through)
                        SELECT service, channel, through FROM view.pushed_channels;
                        """)
                try db.execute(
                    sql: "INSERT INTO its_log (one, epoch) VALUES (1, ?)", arguments: [epoch.text])
            }
        }
        return report
    }

    private static func path(_ kind: ServerDatabase, in folder: String) -> String {
        folder + "/\(kind.file).sqlite"
    }

    /// Makes a file, and leaves it whole, checked and alone.
    private static func change<Value>(
        _ file: URL, _ kind: ServerDatabase, _ migrator: DatabaseMigrator,
        _ body: (DatabaseQueue) throws -> Value
    ) throws -> Value {
        do {
            let queue = try DatabaseQueue(path: file.path)
            defer { try? queue.close() }
            try kind.prepare(queue, migrator)
            let value = try body(queue)
            let check = try queue.read { try String.fetchOne($0, sql: "PRAGMA quick_check(1)") }
            guard check == "ok" else {
                throw RepriseError(
                    .corrupt, "The copy of the \(kind.name) is damaged: \(check ?? "").",
                    remedy: "Look at the disk, and try again.")
            }
            return value
        } catch {
            throw typed(error, kind)
        }
    }

    /// Whatever fails here is a copy's: no gateway has stopped.
    private static func typed(_ error: any Error, _ kind: ServerDatabase) -> RepriseError {
        var kind = kind
        kind.isDurable = true
        return kind.typed(error)
    }

    /// Runs `body` in one transaction beside other files.
    private static func attaching<Value>(
        _ sources: [(name: String, path: String)], to queue: DatabaseQueue,
        _ body: (Database) throws -> Value
    ) throws -> Value {
        try queue.writeWithoutTransaction { db in
            for (name, path) in sources {
                try db.execute(sql: "ATTACH DATABASE ? AS \(name)", arguments: [path])
            }
            var result: Result<Value, any Error>?
            try db.inTransaction {
                let value = try body(db)
                result = .success(value)
                return .commit
            }
            for (name, _) in sources { try db.execute(sql: "DETACH DATABASE \(name)") }
            guard let result else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
            return try result.get()
        }
    }

    /// Copies the rows of all tables that both have, and which numbers were used.
    ///
    /// The ids of directory entries are made of these: one whose row is gone is not used again.
    private static func copyTables(
        from source: String, except: Set<String>, _ db: Database
    ) throws {
        let list = "SELECT name FROM %.sqlite_schema WHERE type = 'table'"
        let tables = try String.fetchAll(
            db,
            sql: """
                \(list.replacing("%", with: source)) AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
                AND name <> 'grdb_migrations' INTERSECT \(list.replacing("%", with: "main"))
                """)
        for table in tables where !except.contains(table) {
            let columns = try db.columns(in: table, in: source).map(\.name).joined(separator: ", ")
            try db.execute(
                sql: """
                    DELETE FROM main.\(table);
                    INSERT INTO main.\(table) (\(columns))
                    SELECT \(columns) FROM \(source).\(table);
                    DELETE FROM main.sqlite_sequence WHERE name = '\(table)';
                    INSERT INTO main.sqlite_sequence (name, seq)
                    SELECT name, seq FROM \(source).sqlite_sequence WHERE name = '\(table)'
                    """)
        }
    }

    /// Up to where nothing waits, and what was pushed behind that.
    private static let pushProgress = """
        INSERT INTO pushed_services SELECT service FROM accounts.push_services;
        INSERT INTO pushed_channels (service, channel, through)
        SELECT w.service, w.channel, min(w.through, coalesce(
          (SELECT min(q.seq) - 1 FROM accounts.push_queue q WHERE q.service = w.service
           AND q.channel = w.channel AND q.kind = 'alert'), w.through))
        FROM accounts.push_walks w;
        INSERT INTO pushed_messages (service, channel, seq, user, device)
        SELECT w.service, w.channel, m.seq, d.user, d.device
        FROM accounts.push_walks w
        JOIN pushed_channels p ON p.service = w.service AND p.channel = w.channel
        JOIN heads h ON h.name = w.channel
        JOIN all_messages m ON m.channel = h.key AND m.seq > p.through AND m.seq <= w.through
        JOIN device_positions d ON d.channel = w.channel AND d.pushed >= m.seq
        WHERE p.through < w.through AND NOT EXISTS (
          SELECT 1 FROM accounts.push_queue q WHERE q.service = w.service AND q.user = d.user
          AND q.device = d.device AND q.channel = w.channel AND q.seq = m.seq);
        """
}
