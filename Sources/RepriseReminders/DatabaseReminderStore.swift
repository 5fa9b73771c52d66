public import GRDB
public import RepriseCore
import RepriseJournal
import Synchronization

/// A reminder store over an app's own GRDB database, which it observes.
///
/// ```swift
/// migrator.registerMigration("reminders") { db in
///     try DatabaseReminderStore.createTables(in: db)
/// }
/// let store = DatabaseReminderStore(
///     observing: ["goal"], open: { try await goals.open() },
///     entity: { id, db in try Goal.fetchOne(db, key: id)?.entity },
///     reminded: { db in try Goal.fetchActive(db).map(\.reminded) },
///     apply: { command, db in try Goal.apply(command, db) })
/// configuration.reminders = .init(store: store)
/// ```
///
/// Nothing of the app calls the reminders: a transaction that changes an observed table is noticed
/// when it is committed, and the feature reads all reminders again. Changes by another process, or
/// by another connection to the file, are not; `db.notifyChanges(in:)` of GRDB tells of them.
public final class DatabaseReminderStore: ReminderStore {
    private enum Phase {
        case closed
        /// Observed as long as the second is kept.
        case open(any DatabaseWriter, AnyDatabaseCancellable)
    }

    /// How many deleted entities a look-up follows to their replacements.
    private static let replacements = 8

    private let tables: [String]
    private let open: @Sendable () async throws -> any DatabaseWriter
    private let entity: @Sendable (String, Database) throws -> Entity?
    private let active: @Sendable (Database) throws -> [RemindedEntity]
    private let effect: @Sendable (ReminderCommand, Database) throws -> Void
    private let phase = Mutex(Phase.closed)
    // All changes are alike.
    private let streams = ValueStreams<ReminderChange>(newest: 1)

    /// Makes a store; ``load()`` opens the database.
    ///
    /// - Parameters:
    ///   - tables: those of which `entity` and `reminded` read; not `WITHOUT ROWID`, whose changes
    ///     SQLite does not report.
    ///   - open: returns the migrated database; if it throws, it is called again later.
    ///   - entity: looks up the entity of an id, whatever its state; nil: it is not there.
    ///   - reminded: the active entities with reminders: at most 10,000, with 30,000 reminders.
    ///   - apply: performs an action from a notification, in the transaction that stores its id; an
    ///     error rolls both back. It throws `DispatchFailure.permanent` for what can never succeed;
    ///     after any other error it is called again later.
    public init(
        observing tables: [String],
        open: @escaping @Sendable () async throws -> any DatabaseWriter,
        entity: @escaping @Sendable (String, Database) throws -> Entity?,
        reminded: @escaping @Sendable (Database) throws -> [RemindedEntity],
        apply: @escaping @Sendable (ReminderCommand, Database) throws -> Void
    ) {
        self.tables = tables
        self.open = open
        self.entity = entity
        active = reminded
        effect = apply
    }

    // MARK: The app

    /// Creates the store's two tables, in a migration of the app's.
    ///
    /// `repriseReminderCommand` has the ids of the actions that have taken effect, the newest
    /// 10,000; `repriseReminderTombstone` the deleted entities, the newest 10,000.
    public static func createTables(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE repriseReminderCommand (
                    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE
                ) STRICT;
                CREATE TABLE repriseReminderTombstone (
                    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
                    deleted INTEGER NOT NULL, replacedBy TEXT
                ) STRICT;
                """)
    }

    /// Records that an entity is deleted, in the transaction that deletes it.
    ///
    /// A tap on an old notification of it is `deleted` or `superseded` then; without it, `missing`.
    ///
    /// - Parameters:
    ///   - id: the entity's.
    ///   - replacement: the id of the entity that has replaced it, as in an import with new ids.
    ///   - when: the time of its deletion.
    ///   - db: of the transaction.
    /// - Throws: what SQLite throws.
    public static func recordDeletion(
        of id: String, replacedBy replacement: String? = nil,
        at when: WallTime = SystemTimekeeper().wall(), in db: Database
    ) throws {
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO repriseReminderTombstone (id, deleted, replacedBy)
                VALUES (?, ?, ?)
                """, arguments: [id, when.milliseconds, replacement])
        try prune("repriseReminderTombstone", db)
    }

    private static func prune(_ table: String, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM \(table) WHERE seq <= (SELECT MAX(seq) FROM \(table)) - ?",
            arguments: [ReminderEngineLimits.stored])
    }

    // MARK: The feature

    /// Opens the database and begins to observe it; a second call does nothing.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` for a missing table, or one whose
    ///   changes are not reported; what `open` throws.
    public func load() async throws {
        if case .open = phase.withLock({ $0 }) { return }
        let writer = try await open()
        let (tables, streams) = (tables, streams)
        let observation = try await writer.writeWithoutTransaction { db in
            try Self.check(tables, db)
            // Starts at once, on the writer's queue. A table that is there is no error.
            return DatabaseRegionObservation(tracking: tables.map { Table($0) }).start(
                in: writer, onError: { _ in }, onChange: { _ in streams.send(.everything) })
        }
        phase.withLock { phase in
            if case .closed = phase { phase = .open(writer, observation) }
        }
    }

    private static func check(_ tables: [String], _ db: Database) throws {
        func bad(_ what: String, _ remedy: String) -> RepriseError {
            RepriseError(.badConfiguration, what, remedy: remedy)
        }
        guard try db.tableExists("repriseReminderCommand"),
            try db.tableExists("repriseReminderTombstone")
        else {
            throw bad(
                "The app's database has no tables of a DatabaseReminderStore.",
                "Call DatabaseReminderStore.createTables(in:) in a migration.")
        }
        guard !tables.isEmpty else {
            throw bad("No table is observed.", "Name those that entities are read from.")
        }
        for table in tables {
            let hasNoRowID = try Bool.fetchOne(
                db, sql: "SELECT wr FROM pragma_table_list(?) WHERE type = 'table'",
                arguments: [table])
            guard let hasNoRowID else {
                throw bad(
                    "There is no table “\(table)” to observe.",
                    "Name tables of the app's database, which `open` has migrated.")
            }
            guard !hasNoRowID else {
                throw bad(
                    "SQLite does not report changes of “\(table)”, which is WITHOUT ROWID.",
                    "Create it with row ids.")
            }
        }
    }

    private var writer: any DatabaseWriter {
        get throws {
            guard case .open(let writer, _) = phase.withLock({ $0 }) else {
                throw RepriseError(
                    .unavailable, "The reminders' database is not open.",
                    remedy: "Call load() first.")
            }
            return writer
        }
    }

    /// Looks an entity up, whatever its state; of a deleted one its replacement, if it has one.
    public func find(_ route: Route) async throws -> EntityFinding {
        try await writer.read { [entity] db in
            if let found = try entity(route.id, db) { return .found(found) }
            var id = route.id
            var when: WallTime?
            // Imports back and forth could lead in a circle.
            for _ in 0..<Self.replacements {
                let row = try Row.fetchOne(
                    db,
                    sql: "SELECT deleted, replacedBy FROM repriseReminderTombstone WHERE id = ?",
                    arguments: [id])
                guard let row else { break }
                // One that cannot be read still says that it is deleted.
                when = WallTime(milliseconds: (try? row.checked("deleted") as Int64) ?? 0)
                guard let next = try? row.checked("replacedBy") as String else { break }
                if let found = try entity(next, db) { return .replaced(by: found) }
                id = next
            }
            return when.map { .deleted(when: $0) } ?? .unknown
        }
    }

    /// All active entities with reminders.
    public func reminded() async throws -> [RemindedEntity] { try await writer.read(active) }

    /// The active ones of these.
    public func reminded(_ ids: Set<String>) async throws -> [RemindedEntity] {
        try await reminded().filter { ids.contains($0.id) }
    }

    /// Sends ``ReminderChange/everything`` after each commit that changes an observed table.
    public var changes: AsyncStream<ReminderChange> { streams.open() }

    /// Performs an action once, and stores its id in the same transaction.
    public func apply(_ command: ReminderCommand) async throws {
        try await writer.write { [effect] db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO repriseReminderCommand (id) VALUES (?)",
                arguments: [command.id.text])
            guard db.changesCount == 1 else { return }
            try Self.prune("repriseReminderCommand", db)
            try effect(command, db)
        }
    }

    /// Whether an action has taken effect.
    public func isApplied(_ id: EntryID) async throws -> Bool {
        try await writer.read { db in
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM repriseReminderCommand WHERE id = ?)",
                arguments: [id.text]) ?? false
        }
    }
}
