import GRDB

/// Steps through a channel's messages in order, in `messages` and then in the tables of `Arrivals`.
struct MessageRows {
    static let columns = "seq, prev, id, time, body, sender, change, target, deleted"

    private enum Source { case sorted, placed, searched, ended }

    /// The current message, by ``columns``.
    private(set) var row: FastStatement
    private var source = Source.ended
    /// The last sequence that is accounted for.
    private var last: Int64 = 0
    private var places: ArraySlice<ArrivalIndex.Place> = []
    private let db: Database
    private let channel: Int64
    private let head: Int64
    private let index: ArrivalIndex

    /// `head` is the channel's newest sequence in the snapshot of `db`.
    init(of channel: Int64, head: Int64, _ index: ArrivalIndex, _ db: Database) throws {
        (self.channel, self.head, self.index, self.db) = (channel, head, index, db)
        row = try Self.sorted(db)
    }

    private static func sorted(_ db: Database) throws -> FastStatement {
        try FastStatement(
            db, "SELECT \(columns) FROM messages WHERE channel = ? AND seq > ? ORDER BY seq")
    }

    /// Begins behind a sequence; with `isOnlyArrived` all up to there is in `messages`, and nothing
    /// beyond.
    mutating func begin(after seq: Int64, isOnlyArrived: Bool = false) throws {
        reset()
        last = seq
        if isOnlyArrived {
            source = .placed
            return places = index.places(of: channel, behind: seq)
        }
        source = .sorted
        row = try Self.sorted(db)
        try row.bind(channel)
        try row.bind(seq)
    }

    mutating func reset() {
        row.reset()
        source = .ended
    }

    /// Steps to the next message.
    ///
    /// - Returns: false at the end.
    mutating func step() throws -> Bool {
        while source != .ended {
            if try advance() {
                last = row.integer(0)
                return true
            }
        }
        return false
    }

    /// - Returns: false if this source has no more.
    private mutating func advance() throws -> Bool {
        switch source {
        case .sorted:
            if try row.step() { return true }
            places = index.places(of: channel, behind: last)
            source = .placed
        case .placed:
            if last < head, let place = places.popFirst(), try find(place) { return true }
            source = last < head ? .searched : .ended
            if source == .searched { try search() }
        case .searched:
            if try row.step() { return true }
            source = .ended
        case .ended: break
        }
        return false
    }

    /// - Returns: whether that row is the next message in this snapshot.
    private mutating func find(_ place: ArrivalIndex.Place) throws -> Bool {
        row.reset()
        row = try FastStatement(
            db,
            """
            SELECT \(Self.columns) FROM \(place.table.name) WHERE n = ? AND channel = ? AND seq = ?
            """)
        try row.bind(place.row)
        try row.bind(channel)
        try row.bind(place.seq)
        guard try row.step() else { return false }
        let prev = row.isNull(1) ? place.seq - 1 : row.integer(1)
        return prev <= last && place.seq <= head
    }

    /// Searches both tables as they are in this snapshot: at most two turns of rows.
    private mutating func search() throws {
        row.reset()
        row = try FastStatement(
            db,
            """
            SELECT \(Self.columns) FROM arrivals WHERE channel = ?1 AND seq > ?2
            UNION ALL
            SELECT \(Self.columns) FROM arrivals2 WHERE channel = ?1 AND seq > ?2 ORDER BY seq
            """)
        try row.bind(channel)
        try row.bind(last)
    }
}
