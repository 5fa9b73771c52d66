import GRDB
import RepriseCore
import RepriseWire

/// Counts a user's unread messages: those in `messages` by one statement, which is prepared once,
/// the newest one by one.
struct UnreadRows {
    private let arrivals: ArrivalIndex
    private let db: Database
    private var sorted: FastStatement
    private var last: FastStatement
    /// How many sequences were searched.
    private(set) var scanned: Int64 = 0

    init(_ arrivals: ArrivalIndex, _ db: Database) throws {
        (self.arrivals, self.db) = (arrivals, db)
        sorted = try FastStatement(
            db,
            """
            SELECT count(*), min(seq) FROM (
              SELECT seq FROM messages WHERE channel = ? AND seq > ? AND seq <= ?
              AND change IS NULL AND deleted IS NULL AND sender IS NOT ?
              ORDER BY seq DESC LIMIT ?)
            """)
        last = try FastStatement(db, "SELECT max(seq) FROM messages WHERE channel = ?")
    }

    mutating func reset() {
        sorted.reset()
        last.reset()
    }

    /// Returns the count, and the first unread message that it has; 0 if none.
    ///
    /// `head` is the channel's newest sequence in the snapshot.
    mutating func count(
        of user: UserID, in channel: Int64, _ range: CountedUnread.Count, head: Int64,
        atMost limit: Int64 = WireLimits.unreadCounted
    ) throws -> (count: Int64, first: Int64) {
        var newest: [Int64] = []
        try arrived(in: channel, after: range.after, through: range.through, head: head) { row in
            let isOwn = !row.isNull(5) && row.text(5) == user.text
            if row.isNull(6), row.isNull(8), !isOwn { newest.append(row.integer(0)) }
        }
        guard newest.count < limit else {
            let first = newest[newest.count - Int(limit)]
            scanned += range.through - first
            return (limit, first)
        }
        sorted.reset()
        try sorted.bind(channel)
        try sorted.bind(range.after)
        try sorted.bind(range.through)
        try sorted.bind(user.text)
        try sorted.bind(limit - Int64(newest.count))
        let (count, first) =
            try sorted.step() ? (sorted.integer(0), sorted.integer(1)) : (Int64(0), Int64(0))
        let all = count + Int64(newest.count)
        scanned += range.through - (all < limit ? range.after : first)
        return (all, count > 0 ? first : newest.first ?? 0)
    }

    /// Whether a message behind a sequence is a deletion.
    mutating func hasDeletion(in channel: Int64, behind seq: Int64, head: Int64) throws -> Bool {
        var row = try FastStatement(
            db,
            """
            SELECT 1 FROM messages WHERE channel = ? AND seq > ? AND change = \(StoredChange.deletion)
            LIMIT 1
            """)
        defer { row.reset() }
        try row.bind(channel)
        try row.bind(seq)
        if try row.step() { return true }
        var isFound = false
        try arrived(in: channel, after: seq, through: head, head: head) { row in
            if !row.isNull(6), row.integer(6) == StoredChange.deletion { isFound = true }
        }
        return isFound
    }

    /// Calls `body` with the rows that are not in `messages`, in order.
    private mutating func arrived(
        in channel: Int64, after: Int64, through: Int64, head: Int64,
        _ body: (FastStatement) -> Void
    ) throws {
        last.reset()
        try last.bind(channel)
        let sorted = try last.step() ? last.integer(0) : 0
        guard sorted < through else { return }
        var rows = try MessageRows(of: channel, head: head, arrivals, db)
        defer { rows.reset() }
        try rows.begin(after: max(after, sorted), isOnlyArrived: true)
        while try rows.step(), rows.row.integer(0) <= through { body(rows.row) }
    }
}
