public import Foundation
import GRDB
import RepriseCore

/// The report of an opening, for logs and for people.
public struct OpeningReport: Hashable, Sendable {
    /// A database that was proved damaged and moved here, with its log beside it; a new one was
    /// made.
    public internal(set) var setAside: URL?
    /// How many entries were in flight when the previous owner ended.
    public internal(set) var interrupted = 0
    /// How many rows were unreadable and are quarantined; they count as dead.
    public internal(set) var quarantined = 0
    /// The result of merging the spool.
    public internal(set) var spool = SpoolReport()
}

/// Opens a journal: folder, lock, inspection, migrations, and one transaction that claims it.
struct JournalOpening: Sendable {
    let folder: JournalFolder
    let kinds: [String: EntryKind]
    let schemas: [JournalSchema]
    let configuration: Journal.Configuration

    struct Opened: Sendable {
        var pool: DatabasePool
        var store: EntryStore
        var lock: OwnerLock
        var report: OpeningReport
    }

    init(
        folder: URL, kinds: [EntryKind], schemas: [JournalSchema],
        configuration: Journal.Configuration
    ) throws {
        self.folder = JournalFolder(folder, shared: configuration.sharedFolder)
        self.kinds = try Self.checked(kinds)
        self.schemas = schemas
        self.configuration = configuration
        let names = schemas.map(\.name)
        guard Set(names + ["journal"]).count == names.count + 1 else {
            throw RepriseError(.badConfiguration, "Two schemas have the same name.")
        }
    }

    private static func checked(_ kinds: [EntryKind]) throws -> [String: EntryKind] {
        var named: [String: EntryKind] = [:]
        for kind in kinds {
            guard (1...JournalLimits.nameBytes).contains(kind.name.utf8.count),
                named.updateValue(kind, forKey: kind.name) == nil
            else {
                throw RepriseError(
                    .badConfiguration, "The kind \(kind.name.kept) is named twice or badly.",
                    remedy: "Give each kind a name of its own, of 1 to 64 bytes.")
            }
        }
        return named
    }

    func open() throws -> Opened {
        do {
            try folder.prepare()
            let lock = try OwnerLock(at: folder.lock, takeOver: configuration.takeOver)
            for url in Set([folder.url, folder.shared]) {
                DurableFile.sweep(url, prefixes: [DurableFile.temporaryPrefix, "owner.lock."])
            }
            return try open(lock)
        } catch {
            throw JournalFailure.classify(error, path: folder.database)
        }
    }

    private func open(_ lock: OwnerLock) throws -> Opened {
        var setAside: URL?
        if folder.isSuspect { setAside = try DamagedDatabase(folder: folder).setAsideIfDamaged() }
        let (pool, opened): (DatabasePool, (EntryStore, OpeningReport))
        do {
            (pool, opened) = try openDatabase()
        } catch  where JournalFailure.isDamage(error) || error is RowDecodingError {
            // Damage may also show as an impossible value; the check decides, here as always.
            setAside = try DamagedDatabase(folder: folder).setAside(reportedBy: error)
            (pool, opened) = try openDatabase()
        }
        folder.acquit()
        var report = opened.1
        report.setAside = setAside
        return Opened(pool: pool, store: opened.0, lock: lock, report: report)
    }

    private func openDatabase() throws -> (DatabasePool, (EntryStore, OpeningReport)) {
        let migrator = JournalSchema.migrator(schemas)
        if FileManager.default.fileExists(atPath: folder.database) {
            try JournalDatabase.look(folder.database) { db in
                try JournalDatabase.inspect(db, migrator: migrator)
            }
        }
        let pool = try JournalDatabase.open(
            folder.database, busyTimeout: configuration.busyTimeout)
        do {
            try pool.writeWithoutTransaction { db in
                // A former owner that wakes between two migrations must not write between them.
                if try db.tableExists("journal"), try !migrator.hasCompletedMigrations(db) {
                    try Self.nextIncarnation(db)
                }
            }
            try migrator.migrate(pool)
            let owned = try own(pool)
            try DurableFile.syncFolder(folder.url.path)
            return (pool, owned)
        } catch {
            try? pool.close()
            throw error
        }
    }

    /// Makes a database ours that is open already: no file is looked at, and nothing is migrated.
    func takeOver(_ pool: DatabasePool) throws -> (EntryStore, OpeningReport) {
        do {
            return try own(pool)
        } catch {
            throw JournalFailure.classify(error, path: folder.database)
        }
    }

    /// Becomes the owner; without the damaged rows, if it meets one.
    private func own(_ pool: DatabasePool) throws -> (EntryStore, OpeningReport) {
        do {
            return try pool.write { db in try becomeOwner(db) }
        } catch  where JournalFailure.isOfAType(error) {
            return try pool.write { db in try becomeOwner(db, readsAllRows: true) }
        }
    }

    @discardableResult
    private static func nextIncarnation(_ db: Database) throws -> Int64 {
        do {
            try db.cachedStatement(sql: "UPDATE journal SET incarnation = incarnation + 1")
                .execute()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            // No version ever wrote this value.
            throw DatabaseError(
                resultCode: .SQLITE_CORRUPT, message: "the journal's row has rotted: \(error)")
        }
        guard
            let incarnation = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT incarnation FROM journal"))
        else {
            throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "the journal's row is gone")
        }
        return incarnation
    }

    private func becomeOwner(_ db: Database, readsAllRows: Bool = false) throws
        -> (EntryStore, OpeningReport)
    {
        let incarnation = try Self.nextIncarnation(db)
        let (stored, doubt) = try EntryStore.readClockReading(db)
        let clockReading = configuration.timekeeper.clockReading()
        let clock = WallClockGuard(stored: stored, doubt: doubt, now: stored ?? clockReading)
        let writerState = WriterState(
            clock: clock, sighted: clockReading.uptime, pending: try EntryStore.countPending(db),
            now: clockReading.wall)
        let store = EntryStore(
            kinds: kinds, schemas: schemas, configuration: configuration,
            incarnation: incarnation, folder: folder, writerState: writerState)
        try store.begin(db)
        try store.writeClockReading(db)
        var report = OpeningReport()
        report.quarantined = try store.quarantineBroken(all: readsAllRows, db)
        try store.adoptUndeclared(db)
        report.interrupted = try store.putBackInterrupted(db)
        for schema in schemas { try schema.recover(db, incarnation) }
        try store.finish(db)
        try SchemaSeal.write(db)
        return (store, report)
    }
}

extension EntryStore {
    /// Counts entries that have not ended, by the indexes alone.
    fileprivate static func countPending(_ db: Database) throws -> Int {
        var sum = 0
        for code in [StateCode.ready, .queued, .delayed, .inFlight] {
            sum +=
                try Int.fetchOne(
                    db.cachedStatement(
                        sql: "SELECT COUNT(*) FROM entry WHERE state = \(code.rawValue)")) ?? 0
        }
        return sum
    }

    /// Quarantines rows whose state is invalid, by an index alone.
    ///
    /// `all` reads all rows, and quarantines those that may be changed and cannot.
    func quarantineBroken(all: Bool, _ db: Database) throws -> Int {
        let states = StateCode.allCases.map { "\($0.rawValue)" }.joined(separator: ",")
        var broken = "state NOT IN (\(states))"
        var why = "the state is unknown"
        if all {
            let readable = try JournalSchema.readable("entry", db)
            broken += " OR (state < 10 OR state = 13) AND NOT (\(readable))"
            why += ", or a value is of another type"
        }
        let found = try Int64.fetchAll(
            db.cachedStatement(sql: "SELECT seq FROM entry WHERE \(broken) LIMIT 10000"))
        var partitionKeys: Set<String> = []
        for seq in found {
            let partitionKey = try setAside(EntryRow.Broken(seq: seq, why: why), in: db)
            if let partitionKey { partitionKeys.insert(partitionKey) }
        }
        // Only now: the next of a partition key may have been one of them.
        for partitionKey in partitionKeys { try advance(partitionKey, in: db) }
        return found.count
    }

    /// Moves entries of a family whose own kind is no longer declared to the family's leading kind:
    /// another version of the app recorded them, and otherwise nothing would dispatch them.
    fileprivate func adoptUndeclared(_ db: Database) throws {
        for (leader, members) in families.all {
            let known = members.map { "'\($0.replacing("'", with: "''"))'" }
            try db.cachedStatement(
                sql: """
                    UPDATE entry SET kind = ?, bound = NULL, released = 0
                    WHERE state < 10 AND substr(kind, 1, ?) = ?
                    AND kind NOT IN (\(known.joined(separator: ",")))
                    """
            ).execute(arguments: [leader, leader.count + 1, leader + "."])
        }
    }
}
