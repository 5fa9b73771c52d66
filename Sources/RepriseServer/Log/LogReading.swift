import GRDB
import RepriseCore
import RepriseWire

/// Reads pages, each in one read transaction.
struct LogReading {
    let epoch: Epoch
    let arrivals: ArrivalIndex

    /// The channel's state and key; nil if it has no messages yet.
    func state(
        of channel: ChannelName, _ db: Database
    ) throws -> (state: LogChannelState, key: Int64)? {
        var row = try FastStatement(db, Self.stateOfChannel)
        return try state(of: channel, &row)
    }

    private static let stateOfChannel = "SELECT key, head, floor FROM heads WHERE name = ?"

    private func state(
        of channel: ChannelName, _ row: inout FastStatement
    ) throws -> (state: LogChannelState, key: Int64)? {
        defer { row.reset() }
        try row.bind(channel.text)
        guard try row.step() else { return nil }
        let state = LogChannelState(epoch: epoch, head: row.integer(1), floor: row.integer(2))
        return (state, row.integer(0))
    }

    /// The channel's state; head 0 and floor 0 if it has no messages yet.
    func stateOrNothing(of channel: ChannelName, _ db: Database) throws -> LogChannelState {
        try state(of: channel, db)?.state ?? LogChannelState(epoch: epoch, head: 0, floor: 0)
    }

    /// Tiles `missing` as far as the limits allow.
    func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int,
        _ db: Database
    ) throws -> LogPage {
        guard let (state, key) = try state(of: channel, db) else {
            let nothing = LogChannelState(epoch: epoch, head: 0, floor: 0)
            return LogPage(events: [], gone: [], state: nothing, through: 0)
        }
        var tiling = Tiling(
            state: state, limit: max(limit, 1), byteLimit: byteLimit,
            // What a directory told earlier was told again since.
            floorReason: channel.isDirectory ? .erased : .retention)
        var rows = try MessageRows(of: key, head: state.head, arrivals, db)
        defer { rows.reset() }
        for range in missing where tiling.begin(range) {
            try rows.begin(after: tiling.position)
            while tiling.needsRow {
                guard try rows.step() else {
                    tiling.rowsEnded()
                    break
                }
                let seq = rows.row.integer(0)
                let prev = rows.row.isNull(1) ? seq - 1 : rows.row.integer(1)
                guard tiling.accepts(prev: prev, bytes: rows.row.byteCount(4)) else { break }
                tiling.add(Self.event(rows.row, in: channel, seq, prev))
            }
            if tiling.isFull { break }
        }
        return tiling.page
    }

    private static func event(
        _ row: FastStatement, in channel: ChannelName, _ seq: Int64, _ prev: Int64
    ) -> ServerFrame.Event {
        ServerFrame.Event(
            channel: channel, seq: seq, prev: prev, id: EntryID(unchecked: row.text(2)),
            time: WallTime(milliseconds: row.integer(3)),
            from: row.isNull(5) ? nil : UserID(unchecked: row.text(5)),
            change: StoredChange.change(row, at: 6), isDeleted: !row.isNull(8), body: row.bytes(4))
    }

    /// Counts users' unread messages in channels, each up to
    /// ``RepriseWire/WireLimits/unreadCounted``, and starting from an earlier count.
    ///
    /// Without it, a user who has published hundreds of thousands of messages, and has none unread,
    /// would cost a scan of all of them. With `known` only later messages are scanned, and those
    /// read since. At most the newest ``unreadLookedAt`` messages of a channel are.
    ///
    /// The statements are prepared once: preparing them for each of ten thousand channels would
    /// cost as much as running them.
    ///
    /// - Returns: the answers to the first questions, which together scan `scanned` messages or
    ///   more, or to all; at least one.
    func unread(
        _ asked: ArraySlice<UnreadQuestion>, _ db: Database,
        scanning scanned: Int64 = LogReading.unreadAtOnce,
        knowing known: (UnreadQuestion) -> CountedUnread.Count?
    ) throws -> [CountedUnread.Answer] {
        var states = try FastStatement(db, Self.stateOfChannel)
        var rows = try UnreadRows(arrivals, db)
        var mentions = try FastStatement(db, Self.mentionsOfUser)
        defer {
            rows.reset()
            mentions.reset()
        }
        var answers: [CountedUnread.Answer] = []
        for question in asked {
            answers.append(
                try unread(question, knowing: known(question), &states, &rows, &mentions))
            if rows.scanned >= scanned { break }
        }
        return answers
    }

    private func unread(
        _ question: UnreadQuestion, knowing known: CountedUnread.Count?,
        _ states: inout FastStatement, _ rows: inout UnreadRows, _ mentions: inout FastStatement
    ) throws -> CountedUnread.Answer {
        guard let (state, key) = try state(of: question.channel, &states) else {
            return .init(unread: Unread(count: 0, head: 0))
        }
        let start = Self.unreadStart(question, state)
        guard state.head > start else { return .init(unread: Unread(count: 0, head: state.head)) }
        let count =
            try known.flatMap {
                try moved($0, to: start, state, of: question.user, in: key, &rows)
            } ?? counted(from: start, state, of: question.user, in: key, &rows)
        var unread = Unread(
            count: min(count.count, WireLimits.unreadCounted), head: state.head)
        if count.count > 0 {
            unread.mentions = try Self.mentions(
                of: question.user, in: key, start..<state.head, &mentions)
        }
        return .init(
            unread: unread,
            count: state.head - start > CountedUnread.worthKnowing ? count : nil)
    }

    private static let mentionsOfUser = """
        SELECT count(*) FROM (SELECT 1 FROM mentions
        WHERE channel = ? AND user = ? AND seq > ? AND seq <= ? LIMIT ?)
        """

    private static func mentions(
        of user: UserID, in key: Int64, _ range: Range<Int64>, _ row: inout FastStatement
    ) throws -> Int64 {
        defer { row.reset() }
        try row.bind(key)
        try row.bind(user.text)
        try row.bind(range.lowerBound)
        try row.bind(range.upperBound)
        try row.bind(WireLimits.unreadCounted)
        return try row.step() ? row.integer(0) : 0
    }

    private static func unreadStart(_ question: UnreadQuestion, _ state: LogChannelState) -> Int64 {
        max(question.after, state.floor, state.head - unreadLookedAt)
    }

    /// Scans all messages after `start`, or enough for the largest count: then the count is that of
    /// a later start.
    private func counted(
        from start: Int64, _ state: LogChannelState, of user: UserID, in key: Int64,
        _ rows: inout UnreadRows
    ) throws -> CountedUnread.Count {
        var all = CountedUnread.Count(after: start, through: state.head, count: 0)
        let (count, first) = try rows.count(of: user, in: key, all, head: state.head)
        all.count = count
        if count >= WireLimits.unreadCounted {
            all.after = first - 1
            all.isMost = true
        }
        return all
    }

    /// An earlier count, updated to the user's and the channel's current state; nil if that is
    /// impossible, or costs more than a full count.
    private func moved(
        _ known: CountedUnread.Count, to start: Int64, _ state: LogChannelState, of user: UserID,
        in key: Int64, _ rows: inout UnreadRows
    ) throws -> CountedUnread.Count? {
        guard known.through <= state.head, known.isMost || start >= known.after else { return nil }
        var count = known
        if known.count > 0 {
            let work = max(start - known.after, 0) + state.head - known.through
            // Trimmed messages cannot be scanned any more.
            guard work < state.head - start, state.floor <= known.after,
                try !rows.hasDeletion(in: key, behind: known.through, head: state.head)
            else { return nil }
            if start > known.after {
                let read = CountedUnread.Count(
                    after: known.after, through: min(start, known.through), count: 0)
                count.count -=
                    try rows.count(of: user, in: key, read, head: state.head, atMost: .max).count
            }
        }
        let fresh = CountedUnread.Count(
            after: max(known.through, start), through: state.head, count: 0)
        count.count +=
            try rows.count(of: user, in: key, fresh, head: state.head, atMost: .max).count
        if start > count.after {
            count.after = start
            count.isMost = false
        }
        count.through = state.head
        return count
    }

    /// The most messages scanned for a count.
    static let unreadLookedAt: Int64 = 1_000_000
    /// The messages scanned in one read, beyond which no further channel is counted: other reads
    /// wait that long.
    static let unreadAtOnce: Int64 = 100_000
}
