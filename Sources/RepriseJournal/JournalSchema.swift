public import GRDB
public import RepriseCore

/// A feature's tables in a journal, and its part of the ledger.
///
/// ```swift
/// let schema = JournalSchema(
///     name: "channels",
///     migrations: [
///         { db in try db.execute(sql: "CREATE TABLE message (…) STRICT") },  // channels/1
///     ])
/// ```
///
/// The n-th migration is known as `name/n` for ever: append, never change a released one.
public struct JournalSchema: Sendable {
    /// Migrates the tables from one version to the next, in a transaction of its own.
    public typealias Migration = @Sendable (Database) throws -> Void

    /// The feature's name; its tables should begin with it.
    public let name: String
    let migrations: [Migration]
    let recover: @Sendable (Database, Int64) throws -> Void
    let ledger: @Sendable (Database) throws -> LedgerSum
    let prune: @Sendable (Database, WallTime) throws -> Bool
    let calendarMoved: @Sendable (Database, Duration) throws -> Void
    /// Moves what says when finished data leaves, because the calendar went forward by so much
    /// while the device was off, and may be wrong.
    package var retentionMoved: @Sendable (Database, Duration) throws -> Void = { _, _ in }
    /// Adopts a feature's data of another journal, before the entries.
    package var adopt: @Sendable (_ source: Journal, _ target: Journal) async throws -> Void = {
        _, _ in
    }

    package typealias Recorded =
        @Sendable (Database, _ payload: [UInt8], _ recorded: WallTime) throws -> Void

    /// The family of kinds that ``recorded`` is called for: `name`, and all `name.more`; nil: none.
    package var observes: String?
    /// Called in the transaction that records an entry of a kind that ``observes`` names,
    /// whichever way the entry comes.
    package var recorded: Recorded = { _, _, _ in }
    /// Called in the transaction that discards a dead letter, of any kind.
    package var discarded: @Sendable (Database, Entry) throws -> Void = { _, _ in }

    /// Declares a feature's schema.
    ///
    /// - Parameters:
    ///   - name: the feature's name: lower-case letters.
    ///   - migrations: the versions of its tables, oldest first.
    ///   - recover: runs once at opening, inside the opening transaction, with the new incarnation.
    ///   - ledger: the feature's part of the sum. It may read a journal that another process owns.
    ///   - prune: removes data past its retention, a bounded piece at a time, at the moment given;
    ///     returns whether more is left. It is called only while the calendar is trusted, about
    ///     once an hour.
    ///   - calendarMoved: moves calendar deadlines, because the calendar was set forward by so much
    ///     (back, if negative).
    public init(
        name: String, migrations: [Migration],
        recover: @escaping @Sendable (Database, Int64) throws -> Void = { _, _ in },
        ledger: @escaping @Sendable (Database) throws -> LedgerSum = { _ in LedgerSum() },
        prune: @escaping @Sendable (Database, WallTime) throws -> Bool = { _, _ in false },
        calendarMoved: @escaping @Sendable (Database, Duration) throws -> Void = { _, _ in }
    ) {
        self.name = name
        self.migrations = migrations
        self.recover = recover
        self.ledger = ledger
        self.prune = prune
        self.calendarMoved = calendarMoved
    }

    /// Moves moments in milliseconds, by table and column; none leaves what 64 bits hold.
    ///
    /// - Parameters:
    ///   - moments: of rows that cannot be read they stay.
    ///   - condition: of the rows; it names no other table.
    ///   - db: the journal's database.
    ///   - step: how far.
    /// - Throws: database errors.
    package static func move(
        _ moments: KeyValuePairs<String, [String]>, where condition: String = "1",
        _ db: Database, by step: Duration
    ) throws {
        let far: Int64 = 4_000_000_000_000_000_000
        let step = max(min(step.milliseconds, far), -far)
        for (table, columns) in moments {
            let readable = try readable(table, db)
            for column in columns {
                try db.execute(
                    sql: """
                        UPDATE \(table) SET \(column) = MAX(MIN(\(column), \(far)), -\(far)) + ?
                        WHERE \(column) IS NOT NULL AND \(condition) AND \(readable)
                        """, arguments: [step])
            }
        }
    }

    /// A condition: each column of a row has a value of its type.
    ///
    /// SQLite updates no row in which one has not, and then no other one of the same statement.
    package static func readable(_ table: String, _ db: Database) throws -> String {
        let conditions = try db.columns(in: table).filter { $0.type != "ANY" }.map { column in
            let null = column.isNotNull ? "" : ", 'null'"
            return "typeof(\"\(column.name)\") IN ('\(column.type.lowercased())'\(null))"
        }
        return conditions.isEmpty ? "1" : conditions.joined(separator: " AND ")
    }
}

extension JournalSchema {
    /// The migrator for the journal's own tables and those of its features.
    static func migrator(_ features: [JournalSchema]) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for schema in [EntryTable.schema] + features {
            for (index, migration) in schema.migrations.enumerated() {
                migrator.registerMigration("\(schema.name)/\(index + 1)", migrate: migration)
            }
        }
        return migrator
    }
}
