import GRDB
import RepriseCore

/// The effects of a batch on entries.
extension EntryStore {
    static let interruption = "The process ended while it was being handled."

    /// Entries of one kind that are ready, in the order recorded.
    func ready(_ take: DispatchBatch.Take, limit: Int, in db: Database) throws
        -> [Result<EntryRow, EntryRow.Broken>]
    {
        let released = take.onlyReleased ? " AND released = 1" : ""
        let family = families.members(of: take.kind)
        if family.count > 1 { return try ready(family, released, limit: limit, in: db) }
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT \(EntryRow.columns) FROM entry
                    WHERE kind = ? AND state = 0\(released) ORDER BY seq LIMIT ?
                    """), arguments: [take.kind, limit])
        var page: [Result<EntryRow, EntryRow.Broken>] = []
        while let row = try rows.next() {
            page.append(Result { () throws(EntryRow.Broken) in try EntryRow(row) })
        }
        return page
    }

    /// The first of all kinds of a family, each of which has its own index.
    private func ready(_ family: [String], _ released: String, limit: Int, in db: Database) throws
        -> [Result<EntryRow, EntryRow.Broken>]
    {
        var found: [Int64] = []
        for kind in family {
            found += try Int64.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT seq FROM entry WHERE kind = ? AND state = 0\(released)
                        ORDER BY seq LIMIT ?
                        """), arguments: [kind, limit])
        }
        return try found.sorted().prefix(limit).compactMap { seq in
            let row = try Row.fetchOne(
                db.cachedStatement(sql: "SELECT \(EntryRow.columns) FROM entry WHERE seq = ?"),
                arguments: [seq])
            return row.map { row in Result { () throws(EntryRow.Broken) in try EntryRow(row) } }
        }
    }

    /// Durable before the handler starts.
    func markInFlight(_ seq: Int64, in db: Database) throws {
        try db.cachedStatement(
            sql: """
                UPDATE entry SET state = 3, incarnation = ?, attempt = attempt + 1, due = NULL
                WHERE seq = ?
                """
        ).execute(arguments: [incarnation, seq])
    }

    func isInFlight(_ seq: Int64, in db: Database) throws -> Bool {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT 1 FROM entry WHERE seq = ? AND state = 3"),
            arguments: [seq]) != nil
    }

    func countAttempt(_ seq: Int64, in db: Database) throws {
        try db.cachedStatement(sql: "UPDATE entry SET attempt = attempt + 1 WHERE seq = ?")
            .execute(arguments: [seq])
    }

    func uncountAttempt(_ seq: Int64, in db: Database) throws {
        try db.cachedStatement(sql: "UPDATE entry SET attempt = attempt - 1 WHERE seq = ?")
            .execute(arguments: [seq])
    }

    /// Requeues an entry that can be taken again as soon as it is next; its partition key has to
    /// advance then.
    func putBackAtOnce(_ seq: Int64, partitionKey: String?, reason: String? = nil, in db: Database)
        throws
    {
        let state: StateCode = partitionKey == nil ? .ready : .queued
        try db.cachedStatement(
            sql: """
                UPDATE entry SET state = ?, incarnation = NULL, reason = COALESCE(?, reason)
                WHERE seq = ? AND state = 3
                """
        ).execute(arguments: [state.rawValue, reason?.kept, seq])
    }

    /// Marks an entry whose effect may have taken place.
    func doubt(_ seq: Int64, in db: Database) throws {
        try db.cachedStatement(
            sql: """
                UPDATE entry SET interrupted = 1, interruptions = interruptions + 1
                WHERE seq = ? AND state < 3
                """
        ).execute(arguments: [seq])
    }

    /// Requeues all entries in flight when their handlers' process ended or gave up: whether their
    /// effects took place is unknown.
    ///
    /// - Returns: how many.
    @discardableResult
    func putBackInterrupted(_ db: Database) throws -> Int {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT seq, lane, kind FROM entry WHERE state = 3 AND interruptions >= ?"),
            arguments: [JournalLimits.interruptions - 1])
        for row in rows {
            try end(
                Int64.fromDatabaseValue(row[0]) ?? 0,
                partitionKey: String.fromDatabaseValue(row[1]),
                as: .dead,
                reason: "The process ended \(JournalLimits.interruptions) times while handling it.",
                in: db)
        }
        let partitionKeys = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    UPDATE entry SET state = CASE WHEN lane IS NULL THEN 0 ELSE 1 END,
                    incarnation = NULL, interrupted = 1, interruptions = interruptions + 1
                    WHERE state = 3 RETURNING lane
                    """)
        ).map { String.fromDatabaseValue($0[0]) }
        for partitionKey in Set(partitionKeys.compactMap { $0 }) {
            try advance(partitionKey, in: db)
        }
        return partitionKeys.count
    }

    /// Ends interrupted entries of a kind that forbids a second try.
    func endInterrupted(kind: String, in db: Database) throws {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT seq, lane FROM entry WHERE kind = ? AND interrupted = 1 AND state < 3
                """, arguments: [kind])
        for row in rows {
            try end(
                Int64.fromDatabaseValue(row[0]) ?? 0,
                partitionKey: String.fromDatabaseValue(row[1]),
                as: .unconfirmed, reason: Self.interruption, in: db)
        }
    }
}
