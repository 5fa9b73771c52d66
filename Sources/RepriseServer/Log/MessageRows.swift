import GRDB

/// Steps through a channel's messages in order, in `messages` and then in the tables of `Arrivals`.
struct MessageRows {
    static let columns = "seq, prev, id, time, body, sender, change, target, deleted"

    private enum Source {
        case sorted, placed
        case searched(FastStatement)
        case ended
    }

    private let db: Database
    private let channel: Int64
    private let head: Int64
    private let index: ArrivalIndex
    private var places: ArraySlice<ArrivalIndex.Place> = []
    private var sorted: FastStatement
    private var source = Source.ended
    /// The statement of the row that was found in a place.
    private var placed: FastStatement?
    /// The last sequence that is accounted for.
    private var last: Int64 = 0

    /// - Parameter head: the channel's newest sequence in the snapshot of `db`.
    init(of channel: Int64, head: Int64, _ index: ArrivalIndex, _ db: Database) throws {
        (self.channel, self.head, self.index, self.db) = (channel, head, index, db)
        sorted = try FastStatement(
            db,
            "SELECT \(Self.columns) FROM messages WHERE channel = ? AND seq > ? ORDER BY seq")
    }

    /// Begins behind a sequence.
    ///
    /// - Parameter isOnlyArrived: whether all up to there is in `messages`, and nothing beyond.
    mutating func begin(after seq: Int64, isOnlyArrived: Bool = false) throws {
        reset()
        last = seq
        source = isOnlyArrived ? .placed : .sorted
        if isOnlyArrived { return places = index.places(of: channel, behind: seq) }
        try sorted.bind(channel)
        try sorted.bind(seq)
    }

    mutating func reset() {
        sorted.reset()
        placed?.reset()
        placed = nil
        if case .searched(var rows) = source { rows.reset() }
        source = .ended
    }

    /// The next message's row; nil at the end.
    mutating func next() throws -> FastStatement? {
        while true {
            switch source {
            case .sorted:
                if try sorted.step() { return found(sorted) }
                places = index.places(of: channel, behind: last)
                source = .placed
            case .placed:
                if last < head, let place = places.popFirst(), let row = try row(at: place) {
                    return found(row)
                }
                source = last < head ? .searched(try search()) : .ended
            case .searched(let rows):
                if try rows.step() { return found(rows) }
                source = .ended
            case .ended: return nil
            }
        }
    }

    private mutating func found(_ row: FastStatement) -> FastStatement {
        last = row.integer(0)
        return row
    }

    /// Nil if that row is not the next message in this snapshot.
    private mutating func row(at place: ArrivalIndex.Place) throws -> FastStatement? {
        placed?.reset()
        var row = try FastStatement(
            db,
            """
            SELECT \(Self.columns) FROM \(place.table.name) WHERE n = ? AND channel = ? AND seq = ?
            """)
        placed = row
        try row.bind(place.row)
        try row.bind(channel)
        try row.bind(place.seq)
        guard try row.step() else { return nil }
        let prev = row.isNull(1) ? place.seq - 1 : row.integer(1)
        return prev <= last && place.seq <= head ? row : nil
    }

    /// Both tables as they are in this snapshot, at most two turns of rows.
    private func search() throws -> FastStatement {
        var rows = try FastStatement(
            db,
            """
            SELECT \(Self.columns) FROM arrivals WHERE channel = ?1 AND seq > ?2
            UNION ALL
            SELECT \(Self.columns) FROM arrivals2 WHERE channel = ?1 AND seq > ?2 ORDER BY seq
            """)
        try rows.bind(channel)
        try rows.bind(last)
        return rows
    }
}
