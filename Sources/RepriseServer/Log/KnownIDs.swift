import GRDB
import RepriseCore
import RepriseWire

/// Which ids the log has stored and where: what makes publishing idempotent, whatever is trimmed.
///
/// Random ids in one B-tree cost a page of 4 KiB written for each message once the tree is large (measured: 40,000 messages/s
/// at a million ids, and falling). So they are kept as a log-structured tree keeps keys: the newest in memory and, in order
/// of arrival, in `recent_ids`; when ``runLength`` have come together they are written to `ids` as one sorted run, from left to
/// right. A filter for each run says where a look-up need not look.
struct KnownIDs: Sendable {
    typealias Position = AppendRules.Position

    /// How many ids make a run unless it is said otherwise; memory holds as many.
    static let runLength = 65_536

    private struct Run: Sendable {
        let number: Int64
        let filter: IDFilter
    }

    private var recent: [EntryID: Position] = [:]
    private var lastRow: Int64
    private var runs: [Run] = []
    private let runLength: Int

    /// Reads what the database knows.
    init(_ db: Database, runLength: Int) throws {
        self.runLength = runLength
        lastRow = 0
        recent.reserveCapacity(runLength)
        var rows = try FastStatement(db, "SELECT n, id, channel, seq FROM recent_ids ORDER BY n")
        while try rows.step() {
            lastRow = rows.integer(0)
            recent[EntryID(unchecked: rows.text(1))] = Position(
                channel: rows.integer(2), seq: rows.integer(3))
        }
        rows.reset()
        var stored = try FastStatement(db, "SELECT run, filter FROM id_runs ORDER BY run DESC")
        while try stored.step() {
            guard let filter = IDFilter(stored.bytes(1)) else {
                throw RepriseError(.corrupt, "A filter of the log's ids is damaged.")
            }
            runs.append(Run(number: stored.integer(0), filter: filter))
        }
        stored.reset()
    }

    /// Where the message with this id was stored; nil if none was.
    func position(of id: EntryID, _ db: Database) throws -> Position? {
        if let position = recent[id] { return position }
        guard !runs.isEmpty else { return nil }
        let hash = IDFilter.hash(id)
        for run in runs where run.filter.mayContain(hash) {
            var row = try FastStatement(
                db, "SELECT channel, seq FROM ids WHERE run = ? AND id = ?")
            defer { row.reset() }
            try row.bind(run.number)
            try row.bind(id.text)
            if try row.step() { return Position(channel: row.integer(0), seq: row.integer(1)) }
        }
        return nil
    }

    /// Remembers a message that is stored in the same transaction.
    mutating func insert(
        _ id: EntryID, at position: Position, with row: inout FastStatement
    ) throws {
        lastRow += 1
        try row.bind(lastRow)
        try row.bind(id.text)
        try row.bind(position.channel)
        try row.bind(position.seq)
        try row.run()
        recent[id] = position
    }

    /// What ``insert(_:at:with:)`` executes.
    static func insertion(_ db: Database) throws -> FastStatement {
        try FastStatement(db, "INSERT INTO recent_ids (n, id, channel, seq) VALUES (?, ?, ?, ?)")
    }

    /// Turns the recent ids into a run once there are enough of them; `newest` is the time of the newest message.
    mutating func sealIfFull(newest: WallTime, _ db: Database) throws {
        guard recent.count >= runLength else { return }
        let number = (runs.first?.number ?? 0) + 1
        var filter = IDFilter()
        var row = try FastStatement(
            db, "INSERT INTO ids (run, id, channel, seq) VALUES (?, ?, ?, ?)")
        for (_, id, position) in inOrder() {
            filter.insert(IDFilter.hash(id))
            try row.bind(number)
            try row.bind(id.text)
            try row.bind(position.channel)
            try row.bind(position.seq)
            try row.run()
        }
        try register(number, newest, filter, db)
        try db.execute(sql: "DELETE FROM recent_ids")
        runs.insert(Run(number: number, filter: filter), at: 0)
        recent.removeAll(keepingCapacity: true)
    }

    /// The recent ids in the order of their bytes, which is the order in `ids`; the first eight nearly always decide.
    private func inOrder() -> [(prefix: UInt64, id: EntryID, position: Position)] {
        let keyed = recent.map { id, position in
            var prefix: UInt64 = 0
            for byte in id.text.utf8.prefix(8) { prefix = prefix << 8 | UInt64(byte) }
            prefix <<= 8 * UInt64(8 - min(id.text.utf8.count, 8))
            return (prefix: prefix, id: id, position: position)
        }
        return keyed.sorted {
            $0.prefix == $1.prefix ? $0.id.text < $1.id.text : $0.prefix < $1.prefix
        }
    }

    private func register(
        _ number: Int64, _ newest: WallTime, _ filter: IDFilter, _ db: Database
    ) throws {
        var row = try FastStatement(
            db, "INSERT INTO id_runs (run, newest, filter) VALUES (?, ?, ?)")
        try row.bind(number)
        try row.bind(newest.milliseconds)
        try row.bind(filter.bytes)
        try row.run()
    }

    /// Forgets one run of which everything is older than `limit` and no message is stored any more.
    ///
    /// - Returns: whether there was one, so that the next may be tried in a transaction of its own.
    mutating func forgetRun(before limit: WallTime, _ db: Database) throws -> Bool {
        let run = try Self.forgettableRun(before: limit, db)
        guard let run else { return false }
        try db.execute(sql: "DELETE FROM ids WHERE run = ?", arguments: [run])
        try db.execute(sql: "DELETE FROM id_runs WHERE run = ?", arguments: [run])
        runs.removeAll { $0.number == run }
        return true
    }

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
