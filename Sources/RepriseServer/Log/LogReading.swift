import GRDB
import RepriseCore
import RepriseWire

/// Reads pages; everything in it happens in one read transaction.
struct LogReading {
    let epoch: Epoch

    /// Where the channel stands, and its key; nil if it has no messages yet.
    func state(
        of channel: ChannelName, _ db: Database
    ) throws -> (state: ChannelState, key: Int64)? {
        var row = try FastStatement(db, Self.stateOfChannel)
        return try state(of: channel, &row)
    }

    private static let stateOfChannel = "SELECT key, head, floor FROM channels WHERE name = ?"

    private func state(
        of channel: ChannelName, _ row: inout FastStatement
    ) throws -> (state: ChannelState, key: Int64)? {
        defer { row.reset() }
        try row.bind(channel.text)
        guard try row.step() else { return nil }
        let state = ChannelState(epoch: epoch, head: row.integer(1), floor: row.integer(2))
        return (state, row.integer(0))
    }

    /// Where the channel stands; head 0 and floor 0 if it has no messages yet.
    func stateOrNothing(of channel: ChannelName, _ db: Database) throws -> ChannelState {
        try state(of: channel, db)?.state ?? ChannelState(epoch: epoch, head: 0, floor: 0)
    }

    /// Tiles `missing` as far as the limits allow.
    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int,
        _ db: Database
    ) throws -> LogPage {
        guard let (state, key) = try state(of: channel, db) else {
            let nothing = ChannelState(epoch: epoch, head: 0, floor: 0)
            return LogPage(events: [], gone: [], state: nothing, through: 0)
        }
        var tiling = Tiling(state: state, limit: max(limit, 1), byteLimit: byteLimit)
        var rows = try FastStatement(
            db,
            """
            SELECT seq, prev, id, time, body, sender, change, target, deleted FROM messages
            WHERE channel = ? AND seq > ? ORDER BY seq
            """)
        defer { rows.reset() }
        for range in missing where tiling.begin(range) {
            rows.reset()
            try rows.bind(key)
            try rows.bind(tiling.position)
            while tiling.needsRow {
                guard try rows.step() else {
                    tiling.rowsEnded()
                    break
                }
                let seq = rows.integer(0)
                let prev = rows.isNull(1) ? seq - 1 : rows.integer(1)
                guard tiling.accepts(prev: prev, bytes: rows.byteCount(4)) else { break }
                tiling.add(
                    ServerFrame.Event(
                        channel: channel, seq: seq, prev: prev,
                        id: EntryID(unchecked: rows.text(2)),
                        time: WallTime(milliseconds: rows.integer(3)),
                        from: rows.isNull(5) ? nil : UserID(unchecked: rows.text(5)),
                        change: StoredChange.change(rows, at: 6), isDeleted: !rows.isNull(8),
                        body: rows.bytes(4)))
            }
            if tiling.isFull { break }
        }
        return tiling.page
    }

    /// Counts what users have not read of channels, each up to ``RepriseWire/WireLimits/unreadCounted``.
    ///
    /// It looks at the newest ``unreadLookedAt`` messages, so that the time is bounded for who has published all of them. Both statements are
    /// prepared once for all: finding them again for each of ten thousand channels would cost as much as running them.
    func unread(_ asked: [UnreadQuestion], _ db: Database) throws -> [Unread] {
        var states = try FastStatement(db, Self.stateOfChannel)
        var rows = try FastStatement(
            db,
            """
            SELECT count(*) FROM (
              SELECT 1 FROM (
                SELECT sender, change, deleted FROM messages
                WHERE channel = ? AND seq > ? ORDER BY seq DESC LIMIT ?)
              WHERE change IS NULL AND deleted IS NULL AND sender IS NOT ? LIMIT ?)
            """)
        defer { rows.reset() }
        return try asked.map { question in
            guard let (state, key) = try state(of: question.channel, &states) else {
                return Unread(count: 0, head: 0)
            }
            let after = max(question.after, state.floor)
            guard state.head > after else { return Unread(count: 0, head: state.head) }
            rows.reset()
            try rows.bind(key)
            try rows.bind(after)
            try rows.bind(Self.unreadLookedAt)
            try rows.bind(question.user.text)
            try rows.bind(WireLimits.unreadCounted)
            return Unread(count: try rows.step() ? rows.integer(0) : 0, head: state.head)
        }
    }

    /// How many messages are looked at to count those that are unread.
    static let unreadLookedAt: Int64 = 1_000_000
}
