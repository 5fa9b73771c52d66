import GRDB
import RepriseCore
import RepriseWire

/// Which ids the log has stored, where, and for whom: what makes publishing idempotent, whatever is
/// trimmed.
///
/// Random ids in one B-tree cost a page of 4 KiB written for each message once the tree is large
/// (measured: 40,000 messages/s at a million ids, and falling). So they are kept as a
/// log-structured tree keeps keys: the newest in memory and, in order of arrival, in a table; when
/// ``runLength`` have come together they are sealed: written to `ids` as one sorted run, from left
/// to right. A filter for each run says where a look-up need not look.
///
/// Sealing goes in slices, one in each commit that stores something, while the next ids come
/// together in a second table. A run whose last slice is written gets its row in `id_runs`, and its
/// table is emptied in that commit. So a run in `ids` without that row is one that is being sealed,
/// and what it lacks are the ids of the older table behind its last one.
struct KnownIDs: Sendable {
    typealias Position = AppendRules.Position
    typealias Known = AppendRules.Known

    /// How many ids make a run unless it is said otherwise; memory holds up to twice as many.
    static let runLength = 65_536
    /// In how many slices a run is sealed if commits are small; a commit that stores more than such
    /// a slice writes as many as it stores.
    ///
    /// So a run is sealed before the next has come together, whatever the commits are.
    private static let slices = 128
    /// How many ids of a run are forgotten in one transaction.
    private static let forgetBatch = 4_096

    private struct Run: Sendable {
        let number: Int64
        let filter: IDFilter
    }

    private struct Sealing: Sendable {
        let number: Int64
        /// Those that are not written yet.
        var ids: GatheredIDs
    }

    private var recent: GatheredIDs
    private var sealing: Sealing?
    private var lastRow: Int64 = 0
    /// How many were inserted since the last slice.
    private var insertedCount = 0
    private var runs: [Run] = []
    private let runLength: Int

    /// Reads what the database knows.
    init(_ db: Database, runLength: Int) throws {
        self.runLength = runLength
        recent = GatheredIDs(in: .first, expecting: runLength)
        try readRuns(db)
        let older = try Self.olderTable(db)
        let number = try Int64.fetchOne(db, sql: "SELECT max(run) FROM ids") ?? 0
        if number > runs.first?.number ?? 0 {
            sealing = Sealing(number: number, ids: try read(older, writtenTo: number, db))
            recent = try read(older.other, writtenTo: nil, db)
        } else {
            recent = try read(older, writtenTo: nil, db)
        }
    }

    private mutating func readRuns(_ db: Database) throws {
        var stored = try FastStatement(db, "SELECT run, filter FROM id_runs ORDER BY run DESC")
        defer { stored.reset() }
        while try stored.step() {
            guard let filter = IDFilter(stored.bytes(1)) else {
                throw RepriseError(.corrupt, "A filter of the log's ids is damaged.")
            }
            runs.append(Run(number: stored.integer(0), filter: filter))
        }
    }

    /// The table with the ids that came first; the other one may be empty.
    private static func olderTable(_ db: Database) throws -> GatheredIDs.Table {
        func first(_ table: GatheredIDs.Table) throws -> Int64 {
            try Int64.fetchOne(db, sql: "SELECT min(n) FROM \(table.rawValue)") ?? .max
        }
        return try first(.second) < first(.first) ? .second : .first
    }

    /// What is in a table; `run` is the one that is being sealed from it.
    private mutating func read(
        _ table: GatheredIDs.Table, writtenTo run: Int64?, _ db: Database
    ) throws -> GatheredIDs {
        var ids = GatheredIDs(in: table, expecting: runLength)
        let last = try String.fetchOne(
            db, sql: "SELECT max(id) FROM ids WHERE run = ?", arguments: [run])
        let written = last.map { EntryID(unchecked: $0) }
        var rows = try FastStatement(
            db, "SELECT n, id, channel, seq, owner FROM \(table.rawValue) ORDER BY n")
        defer { rows.reset() }
        while try rows.step() {
            lastRow = max(lastRow, rows.integer(0))
            let id = EntryID(unchecked: rows.text(1))
            if let written, !GatheredIDs.isOrdered(written, before: id) {
                ids.insertGone(id)
            } else {
                ids.insert(id, Self.known(rows, at: 2))
            }
        }
        return ids
    }

    /// Reads the columns `channel`, `seq` and `owner`, the first of which is at `column`.
    private static func known(_ row: FastStatement, at column: Int32) -> Known {
        Known(
            Position(channel: row.integer(column), seq: row.integer(column + 1)),
            owner: row.isNull(column + 2) ? nil : row.integer(column + 2))
    }

    /// Where the message with this id was stored, and for whom; nil if none was.
    func known(_ id: EntryID, _ db: Database) throws -> Known? {
        if let known = recent[id] ?? sealing?.ids[id] { return known }
        guard sealing != nil || !runs.isEmpty else { return nil }
        let hash = IDFilter.hash(id)
        if let sealing, sealing.ids.filter.mayContain(hash),
            let known = try Self.known(id, in: sealing.number, db)
        {
            return known
        }
        for run in runs where run.filter.mayContain(hash) {
            if let known = try Self.known(id, in: run.number, db) { return known }
        }
        return nil
    }

    private static func known(
        _ id: EntryID, in run: Int64, _ db: Database
    ) throws -> Known? {
        var row = try FastStatement(
            db, "SELECT channel, seq, owner FROM ids WHERE run = ? AND id = ?")
        defer { row.reset() }
        try row.bind(run)
        try row.bind(id.text)
        return try row.step() ? known(row, at: 0) : nil
    }

    /// Remembers a message that is stored in the same transaction.
    mutating func insert(
        _ id: EntryID, _ known: Known, with row: inout FastStatement
    ) throws {
        lastRow += 1
        try row.bind(lastRow)
        try row.bind(id.text)
        try row.bind(known.position.channel)
        try row.bind(known.position.seq)
        try row.bind(known.owner)
        try row.run()
        recent.insert(id, known)
        insertedCount += 1
    }

    /// What ``insert(_:_:with:)`` executes until the next ``seal(newest:_:)``.
    func insertion(_ db: Database) throws -> FastStatement {
        try FastStatement(
            db,
            """
            INSERT INTO \(recent.table.rawValue) (n, id, channel, seq, owner)
            VALUES (?, ?, ?, ?, ?)
            """)
    }

    /// Ends a transaction: writes a slice of the run that is being sealed, and begins with the next
    /// one once enough ids have come together; `newest` is the time of the newest message.
    mutating func seal(newest: WallTime, _ db: Database) throws {
        let inserted = insertedCount
        insertedCount = 0
        guard inserted > 0 else { return }
        if sealing == nil, recent.count >= runLength {
            let next = GatheredIDs(in: recent.table.other, expecting: runLength)
            sealing = Sealing(number: (runs.first?.number ?? 0) + 1, ids: recent)
            recent = next
        }
        guard let number = sealing?.number else { return }
        try writeSlice(of: number, count: max(inserted, runLength / Self.slices), db)
        if let sealed = sealing, sealed.ids.count == 0 {
            try register(sealed, newest, db)
            try db.execute(sql: "DELETE FROM \(sealed.ids.table.rawValue)")
            runs.insert(Run(number: number, filter: sealed.ids.filter), at: 0)
            sealing = nil
        }
    }

    private mutating func writeSlice(of run: Int64, count: Int, _ db: Database) throws {
        var row = try FastStatement(
            db, "INSERT INTO ids (run, id, channel, seq, owner) VALUES (?, ?, ?, ?, ?)")
        for _ in 0..<count {
            guard let (id, known) = sealing?.ids.removeFirst() else { return }
            try row.bind(run)
            try row.bind(id.text)
            try row.bind(known.position.channel)
            try row.bind(known.position.seq)
            try row.bind(known.owner)
            try row.run()
        }
    }

    private func register(_ sealed: Sealing, _ newest: WallTime, _ db: Database) throws {
        var row = try FastStatement(
            db, "INSERT INTO id_runs (run, newest, filter) VALUES (?, ?, ?)")
        try row.bind(sealed.number)
        try row.bind(newest.milliseconds)
        try row.bind(sealed.ids.filter.bytes)
        try row.run()
    }

    /// Forgets a part of a run that ``forgettableRun(before:_:)`` gave.
    ///
    /// - Returns: whether there is more of it.
    mutating func forget(_ run: Int64, _ db: Database) throws -> Bool {
        let last = try String.fetchOne(
            db, sql: "SELECT id FROM ids WHERE run = ? ORDER BY id LIMIT 1 OFFSET ?",
            arguments: [run, Self.forgetBatch])
        if let last {
            try db.execute(
                sql: "DELETE FROM ids WHERE run = ? AND id < ?", arguments: [run, last])
            return true
        }
        try db.execute(sql: "DELETE FROM ids WHERE run = ?", arguments: [run])
        try db.execute(sql: "DELETE FROM id_runs WHERE run = ?", arguments: [run])
        runs.removeAll { $0.number == run }
        return false
    }

    /// A run of which everything is older than `limit` and no message is stored any more; it stays
    /// so.
    static func forgettableRun(before limit: WallTime, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT run FROM id_runs WHERE newest < ? AND NOT EXISTS (
                  SELECT 1 FROM ids JOIN channels ON channels.key = ids.channel
                  WHERE ids.run = id_runs.run AND ids.seq > channels.floor)
                ORDER BY run LIMIT 1
                """, arguments: [limit.milliseconds])
    }
}
