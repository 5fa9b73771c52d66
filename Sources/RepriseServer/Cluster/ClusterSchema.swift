import Foundation
import GRDB
import RepriseCore
import RepriseWire

/// The tables of a gateway's view: those of the log and of the accounts, and how far the journal is
/// applied, which commits with them.
///
/// - `applied`: one row: the last entry, and the journal's time.
/// - `entries`: the newest entries' digests and times.
/// - `sessions`: see ``AdmissionMachine/Session``.
/// - `hellos`: the newest hello of each device; without a user its text is empty.
/// - `leases`: see ``Lease``. `rules`: no row before they are raised, see ``ClusterRules``.
/// - `pushed_services`, `pushed_channels`, `pushed_messages`: see ``PushProgress``: what has begun,
///   up to where nothing waits, and what was pushed beyond that. `push_services`, `push_walks`,
///   `push_early` and `push_queue` are the gateway's own while it pushes.
enum ClusterSchema {
    static func migrator(epoch: Epoch) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 view") { db in
            try ServerDatabase.view.identify(db)
            try db.execute(
                sql: """
                    CREATE TABLE applied (
                      one INTEGER PRIMARY KEY CHECK (one = 1),
                      sequence INTEGER NOT NULL,
                      digest BLOB NOT NULL,
                      time INTEGER NOT NULL
                    );
                    CREATE TABLE entries (
                      sequence INTEGER PRIMARY KEY,
                      digest BLOB NOT NULL,
                      time INTEGER NOT NULL
                    );
                    CREATE TABLE sessions (
                      id INTEGER PRIMARY KEY,
                      next INTEGER NOT NULL,
                      time INTEGER NOT NULL
                    );
                    """)
        }
        migrator.registerMigration("2 hellos") { db in
            try db.execute(
                sql: """
                    CREATE TABLE hellos (
                      user TEXT NOT NULL,
                      device TEXT NOT NULL,
                      sequence INTEGER NOT NULL,
                      place INTEGER NOT NULL,
                      PRIMARY KEY (user, device)
                    ) WITHOUT ROWID;
                    CREATE UNIQUE INDEX hellos_in_order ON hellos (sequence, place);
                    """)
        }
        migrator.registerMigration("3 leases and pushes") { db in
            try db.execute(
                sql: """
                    CREATE TABLE leases (
                      role INTEGER PRIMARY KEY,
                      holder INTEGER NOT NULL,
                      granted INTEGER NOT NULL,
                      expires INTEGER NOT NULL
                    );
                    CREATE TABLE pushed_services (service TEXT PRIMARY KEY) WITHOUT ROWID;
                    CREATE TABLE pushed_channels (
                      service TEXT NOT NULL,
                      channel TEXT NOT NULL,
                      through INTEGER NOT NULL,
                      PRIMARY KEY (service, channel)
                    ) WITHOUT ROWID;
                    CREATE TABLE pushed_messages (
                      service TEXT NOT NULL,
                      channel TEXT NOT NULL,
                      seq INTEGER NOT NULL,
                      user TEXT NOT NULL,
                      device TEXT NOT NULL,
                      PRIMARY KEY (service, channel, seq, user, device)
                    ) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("4 rules") { db in
            try db.execute(
                sql: """
                    CREATE TABLE rules (
                      one INTEGER PRIMARY KEY CHECK (one = 1),
                      version INTEGER NOT NULL
                    );
                    """)
        }
        LogSchema.register(in: &migrator) { epoch }
        AccountsSchema.register(in: &migrator)
        return migrator
    }
}

extension AdmissionMachine {
    /// As it stood after the last commit.
    init(_ db: Database) throws {
        guard let row = try Row.fetchOne(db, sql: "SELECT sequence, digest, time FROM applied")
        else {
            self.init()
            return
        }
        var sessions: [Int64: Session] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT id, next, time FROM sessions ORDER BY id") {
            let id: Int64 = try row.checked(0)
            sessions[id] = Session(
                next: try row.checked(1), time: WallTime(milliseconds: try row.checked(2)))
        }
        let recent = try Row.fetchAll(db, sql: "SELECT digest, time FROM entries ORDER BY sequence")
        self.init(
            position: JournalPosition(
                sequence: try row.checked(0), digest: try Self.digest(row.checked(1))),
            time: WallTime(milliseconds: try row.checked(2)), sessions: sessions,
            recent: try recent.map {
                Recent(
                    digest: try Self.digest($0.checked(0)),
                    time: WallTime(milliseconds: try $0.checked(1)))
            })
    }

    private static func digest(_ data: Data) -> JournalDigest { JournalDigest(bytes: Array(data)) }

    /// Writes an entry that was just admitted.
    func saveEntry(_ db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT INTO entries (sequence, digest, time) VALUES (?, ?, ?)"
        ).execute(arguments: [position.sequence, Data(position.digest.bytes), time.milliseconds])
    }

    /// Writes what has changed since these were its sessions, once a transaction.
    func save(since former: [Int64: Session], _ db: Database) throws {
        try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO applied (one, sequence, digest, time) VALUES (1, ?, ?, ?)"
        ).execute(
            arguments: [position.sequence, Data(position.digest.bytes), time.milliseconds])
        try db.cachedStatement(sql: "DELETE FROM entries WHERE sequence <= ?")
            .execute(arguments: [position.sequence - Int64(ClusterLimits.recentEntries)])
        for id in former.keys where sessions[id] == nil {
            try db.execute(sql: "DELETE FROM sessions WHERE id = ?", arguments: [id])
        }
        for (id, session) in sessions where former[id] != session {
            try db.cachedStatement(
                sql: "INSERT OR REPLACE INTO sessions (id, next, time) VALUES (?, ?, ?)"
            ).execute(arguments: [id, session.next, session.time.milliseconds])
        }
    }
}
