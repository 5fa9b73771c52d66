import GRDB
import RepriseCore
import RepriseWire

/// The ids that the log has stored, with their places and owners: makes publishing idempotent,
/// independent of trimming.
///
/// Random ids in one large B-tree cost a written page of 4 KiB per message (measured: 40,000
/// messages/s at a million ids, and falling). So this is a log-structured merge tree: the newest
/// ids are in memory and, in order of arrival, in a table; ``runLength`` of them are sealed, i.e.
/// written to `ids` as one sorted run. Two filters per run save look-ups, which cost more than all
/// else once the tree is larger than the page cache.
///
/// Sealing goes in slices, one per commit that stores something, while the next ids collect in a
/// second table. The commit of a run's last slice adds its row in `id_runs` and empties its table.
/// So a run in `ids` without that row is being sealed, and lacks the ids of the older table after
/// its last one.
struct KnownIDs: Sendable {
    typealias Position = AppendRules.Position
    typealias Known = AppendRules.Known

    /// The default number of ids in a run; memory holds up to twice as many.
    static let runLength = 65_536
    /// The slices of a run if commits are small; a commit that stores more than a slice writes as
    /// many ids as it stores.
    ///
    /// So a run is sealed before the next is full, for commits of any size.
    static let slices = 128
    /// The most ids of a run forgotten in one transaction.
    private static let forgetBatch = 4_096

    private static let insertion = RowInsertion(into: "ids", "run, id, channel, seq, owner")

    private struct Sealing: Sendable {
        let number: Int64
        /// The written ones have left.
        var ids: GatheredIDs
    }

    private var recent: GatheredIDs
    private var sealing: Sealing?
    private var lastRow: Int64 = 0
    /// The number of ids since the last slice; they are not written yet.
    private var insertedCount = 0
    private var runs = RunFilters()
    private let runLength: Int

    /// Reads the ids and filters from the database.
    init(_ db: Database, runLength: Int) throws {
        self.runLength = runLength
        recent = GatheredIDs(in: .first, expecting: runLength)
        try readRuns(db)
        let older = try Self.olderTable(db)
        let number = try Int64.fetchOne(db, sql: "SELECT max(run) FROM ids") ?? 0
        if number > runs.newest {
            sealing = Sealing(number: number, ids: try read(older, writtenTo: number, db))
            recent = try read(older.other, writtenTo: nil, db)
        } else {
            recent = try read(older, writtenTo: nil, db)
        }
    }

    private mutating func readRuns(_ db: Database) throws {
        var stored = try FastStatement(
            db, "SELECT run, filter, filter2 FROM id_runs ORDER BY run")
        defer { stored.reset() }
        while try stored.step() {
            let first = try IDFilter(wordCount: IDFilter.wordCount, stored.bytes(1))
            var second: IDFilter?
            if !stored.isNull(2) {
                second = try IDFilter(wordCount: IDFilter.secondWordCount, stored.bytes(2))
            }
            runs.insert(stored.integer(0), first, second)
        }
    }

    /// The table with the older ids; the other one may be empty.
    private static func olderTable(_ db: Database) throws -> GatheredIDs.Table {
        func first(_ table: GatheredIDs.Table) throws -> Int64 {
            try Int64.fetchOne(db, sql: "SELECT min(n) FROM \(table.rawValue)") ?? .max
        }
        return try first(.second) < first(.first) ? .second : .first
    }

    /// Reads a table; `run` is the one being sealed from it.
    private mutating func read(
        _ table: GatheredIDs.Table, writtenTo run: Int64?, _ db: Database
    ) throws -> GatheredIDs {
        var ids = GatheredIDs(in: table, expecting: runLength)
        let last = try String.fetchOne(
            db, sql: "SELECT max(id) FROM ids WHERE run = ?", arguments: [run])
        var rows = try FastStatement(
            db, "SELECT n, id, channel, seq, owner FROM \(table.rawValue) ORDER BY n")
        defer { rows.reset() }
        while try rows.step() {
            lastRow = max(lastRow, rows.integer(0))
            let id = EntryID(unchecked: rows.text(1))
            let isWritten = last.map { id.text <= $0 } ?? false
            ids.insert(id, Self.known(rows, at: 2), hasLeft: isWritten)
        }
        return ids
    }

    /// Reads the columns `channel`, `seq` and `owner`, the first of which is at `column`.
    private static func known(_ row: FastStatement, at column: Int32) -> Known {
        Known(
            Position(channel: row.integer(column), seq: row.integer(column + 1)),
            owner: row.isNull(column + 2) ? nil : row.integer(column + 2))
    }

    /// The channel, sequence and owner of the message with this id; nil if none was stored.
    ///
    /// Mutating, because otherwise each call from a closure copies all of this.
    mutating func known(_ id: EntryID, _ db: Database) throws -> Known? {
        if let known = recent[id] { return known }
        if let known = sealing?.ids[id] { return known }
        guard !runs.isEmpty else { return nil }
        return try runs.firstResult(for: IDFilter.hash(id)) { try Self.known(id, in: $0, db) }
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

    /// Remembers a message stored in the same transaction; ``seal(newest:_:)`` writes it.
    mutating func insert(_ id: EntryID, _ known: Known) {
        recent.insert(id, known)
        insertedCount += 1
    }

    /// Ends a transaction: writes its ids and a slice of the run being sealed, and starts the next
    /// run once enough ids have collected; `newest` is the time of the newest message.
    mutating func seal(newest: WallTime, _ db: Database) throws {
        let inserted = insertedCount
        insertedCount = 0
        guard inserted > 0 else { return }
        try recent.table.insertion.run(recent.newest(inserted), db) { row, id in
            lastRow += 1
            try row.bind(lastRow)
            try row.bind(id.id, id.known)
        }
        if sealing == nil, recent.count >= runLength {
            let next = GatheredIDs(in: recent.table.other, expecting: runLength)
            sealing = Sealing(number: runs.newest + 1, ids: recent)
            recent = next
        }
        guard let number = sealing?.number else { return }
        try writeSlice(of: number, count: max(inserted, runLength / Self.slices), db)
        if let sealed = sealing, sealed.ids.count == 0 {
            try register(sealed, newest, db)
            try db.execute(sql: "DELETE FROM \(sealed.ids.table.rawValue)")
            runs.insert(number, sealed.ids.filter, sealed.ids.secondFilter)
            sealing = nil
        }
    }

    private mutating func writeSlice(of run: Int64, count: Int, _ db: Database) throws {
        var slice: [GatheredIDs.Gathered] = []
        slice.reserveCapacity(count)
        while slice.count < count, let next = sealing?.ids.removeFirst() { slice.append(next) }
        try Self.insertion.run(slice, db) { row, id in
            try row.bind(run)
            try row.bind(id.id, id.known)
        }
    }

    private func register(_ sealed: Sealing, _ newest: WallTime, _ db: Database) throws {
        var row = try FastStatement(
            db, "INSERT INTO id_runs (run, newest, filter, filter2) VALUES (?, ?, ?, ?)")
        try row.bind(sealed.number)
        try row.bind(newest.milliseconds)
        try row.bind(sealed.ids.filter.bytes)
        try row.bind(sealed.ids.secondFilter.bytes)
        try row.run()
    }

    /// Forgets a part of a run returned by ``forgettableRun(before:_:_:)``; does nothing for
    /// another one that is not sealed.
    ///
    /// - Returns: whether more of it remains.
    mutating func forget(_ run: Int64, _ db: Database) throws -> Bool {
        guard runs.contains(run) else { return false }
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
        runs.remove(run)
        return false
    }

    /// The first id of each old run whose message is stored, as it was found last.
    ///
    /// The ids before it need no other search: a floor never falls.
    struct KeptIDs: Sendable {
        fileprivate struct Kept {
            /// The time of the run's newest message: a run's number may be used again.
            let newest: Int64
            let id: String
        }

        fileprivate var first: [Int64: Kept] = [:]
    }

    /// A run in which everything is older than `limit` and no message is stored; it stays so.
    static func forgettableRun(
        before limit: WallTime, _ kept: inout KeptIDs, _ db: Database
    ) throws -> Int64? {
        let rows = try Row.fetchAll(
            db, sql: "SELECT run, newest FROM id_runs WHERE newest < ? ORDER BY run",
            arguments: [limit.milliseconds])
        // In the order of the ids, from the first on.
        let search = try db.cachedStatement(
            sql: """
                SELECT ids.id FROM ids CROSS JOIN heads ON heads.key = ids.channel
                WHERE ids.run = ? AND ids.id >= ? AND ids.seq > heads.floor
                ORDER BY ids.id LIMIT 1
                """)
        var found: [Int64: KeptIDs.Kept] = [:]
        for row in rows {
            let (run, newest): (Int64, Int64) = (try row.checked("run"), try row.checked("newest"))
            let former = kept.first[run].flatMap { $0.newest == newest ? $0.id : nil }
            guard let id = try String.fetchOne(search, arguments: [run, former ?? ""]) else {
                kept.first[run] = nil
                return run
            }
            found[run] = KeptIDs.Kept(newest: newest, id: id)
            kept.first[run] = found[run]
        }
        kept.first = found
        return nil
    }
}

extension FastStatement {
    /// Binds the columns id, channel, seq and owner.
    fileprivate mutating func bind(_ id: EntryID, _ known: AppendRules.Known) throws {
        try bind(id.text)
        try bind(known.position.channel)
        try bind(known.position.seq)
        try bind(known.owner)
    }
}
