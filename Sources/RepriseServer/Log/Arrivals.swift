import GRDB
import RepriseCore
import RepriseWire

/// The newest messages, in order of arrival, until they are moved to their channels.
///
/// `messages` keeps a channel's messages together, so that catch-up reads few pages; but a commit
/// for many channels would change a page for each. So a message is appended to one of two tables
/// that take turns. When one has ``turn`` rows, the other takes what comes, and the rows of the
/// first are moved by channel and then removed, in slices that go with the commits. A channel's
/// messages are moved in order: `messages` has all that came before the first one that is only
/// here. What was moved stays here as a copy until it is removed.
struct Arrivals: Sendable {
    typealias Place = ArrivalIndex.Place

    enum Table: UInt8, Sendable, CaseIterable {
        case first, second

        var name: String { self == .first ? "arrivals" : "arrivals2" }
        var other: Table { self == .first ? .second : .first }

        var insertion: RowInsertion { self == .first ? Self.toFirst : Self.toSecond }

        private static let toFirst = Self.insertion(.first)
        private static let toSecond = Self.insertion(.second)
        private static func insertion(_ table: Self) -> RowInsertion {
            RowInsertion(into: table.name, FastStatement.messageColumns + ", n")
        }
    }

    private struct Edited: Hashable {
        let channel: Int64
        let target: Int64
    }

    /// What is done with the rows of a table whose turn is over.
    private enum Work {
        /// They are moved; of these channels, the last one first.
        case moving([Int64])
        case removing
    }

    /// The rows with which a table's turn ends.
    static let turn = 4_096
    /// With as many messages of a channel in one commit, they are stored in `messages` at once.
    static let dense = 8

    let index: ArrivalIndex
    private var filling = Table.first
    private var work: Work?
    /// The numbers of the tables' rows, which have no holes.
    private var rows: [Table: ClosedRange<Int64>] = [:]
    private(set) var lastRow: Int64 = 0
    /// For channels with rows here, the last sequence that is in `messages` or was.
    private var moved: [Int64: Int64] = [:]
    /// The edits of a message that are here.
    private var edits: [Edited: [Int64]] = [:]
    private var insertedCount = 0
    /// What ``write(_:)`` stores.
    private var unwritten: [(event: ServerFrame.Event, channel: Int64)] = []
    private let turn: Int

    /// Reads what is there, and puts it into `index`.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` if rows or channels are missing.
    init(_ db: Database, _ index: ArrivalIndex, turn: Int = Self.turn) throws {
        self.index = index
        self.turn = turn
        let first =
            try Self.firstRow(.first, db) <= Self.firstRow(.second, db) ? Table.first : .second
        var places: [Int64: [Place]] = [:]
        for table in [first, first.other] { try read(table, into: &places, db) }
        for channel in places.keys { moved[channel] = try Self.moved(channel, db) }
        index.replace(places)
        filling = rows[first.other] == nil ? first : first.other
        if filling != first { work = .moving(channels(in: first)) }
    }

    private static func firstRow(_ table: Table, _ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, sql: "SELECT min(n) FROM \(table.name)") ?? .max
    }

    private static func moved(_ channel: Int64, _ db: Database) throws -> Int64 {
        var row = try FastStatement(
            db,
            """
            SELECT max(floor, coalesce((SELECT max(seq) FROM messages WHERE channel = key), 0))
            FROM heads WHERE key = ?
            """)
        defer { row.reset() }
        try row.bind(channel)
        guard try row.step() else { throw missing }
        return row.integer(0)
    }

    private mutating func read(
        _ table: Table, into places: inout [Int64: [Place]], _ db: Database
    ) throws {
        var row = try FastStatement(
            db, "SELECT n, channel, seq, change, target FROM \(table.name) ORDER BY n")
        defer { row.reset() }
        while try row.step() {
            let (number, channel, seq) = (row.integer(0), row.integer(1), row.integer(2))
            guard number == lastRow + 1 || rows[table] == nil && number > lastRow else {
                throw Self.missing
            }
            lastRow = number
            rows[table] = (rows[table]?.lowerBound ?? number)...number
            places[channel, default: []].append(Place(seq: seq, row: number, table: table))
            if case .edits(let target) = StoredChange.change(row, at: 3) {
                edits[Edited(channel: channel, target: target), default: []].append(seq)
            }
        }
    }

    private static let missing = RepriseError(
        .corrupt, "The newest messages of the log are not all there.",
        remedy: "Keep the file for inspection and restore a backup into the data folder.")

    // MARK: Storing

    /// Takes a message that ``write(_:)`` stores in the same transaction.
    mutating func insert(_ event: ServerFrame.Event, _ channel: Int64) {
        lastRow += 1
        unwritten.append((event, channel))
        index.append(Place(seq: event.seq, row: lastRow, table: filling), of: channel)
        if case .edits(let target) = event.change {
            edits[Edited(channel: channel, target: target), default: []].append(event.seq)
        }
    }

    /// Stores what was taken, before anything looks for it in the table.
    mutating func write(_ db: Database) throws {
        guard !unwritten.isEmpty else { return }
        let first = lastRow - Int64(unwritten.count) + 1
        var number = first
        try filling.insertion.run(unwritten, db) { row, message in
            try row.bind(message.event, message.channel)
            try row.bind(number)
            number += 1
        }
        rows[filling] = (rows[filling]?.lowerBound ?? first)...lastRow
        insertedCount += unwritten.count
        unwritten.removeAll(keepingCapacity: true)
    }

    /// Ends a transaction: moves and removes a slice of the table whose turn is over.
    mutating func advance(_ db: Database) throws {
        guard insertedCount > 0 else { return }
        // Each row is moved and removed: thrice as many are done before the next turn ends.
        var left = max(3 * insertedCount, turn / 64)
        insertedCount = 0
        if work == nil, let filled = rows[filling], filled.count >= turn {
            work = .moving(channels(in: filling))
            filling = filling.other
        }
        while left > 0, let work {
            switch work {
            case .moving(let channels): try move(channels, &left, db)
            case .removing: try remove(&left, db)
            }
        }
    }

    /// Sorted backwards.
    private func channels(in table: Table) -> [Int64] {
        // In order of arrival, so that the older table's come first.
        index.channels { $0.first?.table == table }.sorted(by: >)
    }

    private mutating func move(_ channels: [Int64], _ left: inout Int, _ db: Database) throws {
        var channels = channels
        while left > 0, let channel = channels.last {
            let rest = unmoved(channel).prefix { $0.table != filling }
            let taken = rest.prefix(left)
            try move(taken, of: channel, db)
            left -= max(taken.count, 1)
            if taken.count == rest.count { channels.removeLast() }
        }
        work = channels.isEmpty ? .removing : .moving(channels)
    }

    private mutating func remove(_ left: inout Int, _ db: Database) throws {
        let table = filling.other
        guard let numbers = rows[table] else { return work = nil }
        let last = min(numbers.lowerBound + Int64(left) - 1, numbers.upperBound)
        try db.execute(sql: "DELETE FROM \(table.name) WHERE n <= ?", arguments: [last])
        left -= Int(last - numbers.lowerBound) + 1
        guard last == numbers.upperBound else {
            return rows[table] = (last + 1)...numbers.upperBound
        }
        (rows[table], work) = (nil, nil)
        index.remove(table)
        moved = moved.filter { !index[$0.key].isEmpty }
        for (edited, seqs) in edits {
            let kept = seqs.filter { index.place(of: $0, in: edited.channel) != nil }
            edits[edited] = kept.isEmpty ? nil : kept
        }
    }

    // MARK: Moving

    /// Moves a channel's messages, or all channels', up to a row and at most so many; returns how
    /// many.
    mutating func move(
        _ channel: Int64? = nil, through last: Int64 = .max, atMost most: Int = .max, _ db: Database
    ) throws -> Int {
        var left = most
        for channel in channel.map({ [$0] }) ?? index.channels({ _ in true }).sorted()
        where left > 0 {
            let taken = unmoved(channel).prefix { $0.row <= last }.prefix(left)
            try move(taken, of: channel, db)
            left -= taken.count
        }
        return most - left
    }

    private func unmoved(_ channel: Int64) -> ArraySlice<Place> {
        index.places(of: channel, behind: moved[channel] ?? 0)
    }

    private mutating func move(
        _ places: ArraySlice<Place>, of channel: Int64, _ db: Database
    ) throws {
        guard let last = places.last else { return }
        var rest = places
        while let table = rest.first?.table {
            var row = try FastStatement(
                db,
                """
                INSERT INTO messages
                SELECT channel, seq, prev, id, time, sender, change, target, deleted, body
                FROM \(table.name) WHERE n = ?
                """)
            while let place = rest.first, place.table == table {
                try row.bind(place.row)
                try row.run()
                rest.removeFirst()
            }
        }
        moved[channel] = last.seq
    }

    // MARK: Edits, deletions, retention

    /// A message that is only here, as a target of changes; nil for any other.
    func target(_ seq: Int64, in channel: Int64, _ db: Database) throws -> AppendRules.Target? {
        guard seq > moved[channel] ?? 0, let place = index.place(of: seq, in: channel) else {
            return nil
        }
        var row = try FastStatement(
            db, "SELECT \(StoredChange.targetColumns) FROM \(place.table.name) WHERE n = ?")
        defer { row.reset() }
        try row.bind(place.row)
        return try row.step() ? StoredChange.target(row) : nil
    }

    /// Erases the bodies of a message and of its edits, as far as they are here.
    ///
    /// - Returns: the number of bytes erased of messages that are only here.
    func blank(_ target: Int64, in channel: Int64, _ db: Database) throws -> Int64 {
        var freed: Int64 = 0
        for seq in [target] + (edits[Edited(channel: channel, target: target)] ?? []) {
            guard let place = index.place(of: seq, in: channel) else { continue }
            let bytes = try blank(place, db)
            if seq > moved[channel] ?? 0 { freed += bytes }
        }
        return freed
    }

    /// Removes a channel's oldest messages that are only here: from now on they are erased copies.
    mutating func remove(
        _ channel: Int64, through last: Int64, atMost most: Int, _ db: Database
    ) throws -> LogTrimming.Removed? {
        var removed: LogTrimming.Removed?
        for place in unmoved(channel).prefix(while: { $0.seq <= last }).prefix(max(most, 0)) {
            var size = try FastStatement(
                db, "SELECT length(body) FROM \(place.table.name) WHERE n = ?")
            defer { size.reset() }
            try size.bind(place.row)
            let bytes = try size.step() ? size.integer(0) : 0
            size.reset()
            _ = try blank(place, db)
            let former = removed ?? (0, 0, 0)
            removed = (place.seq, former.count + 1, former.bytes + bytes)
        }
        if let removed { moved[channel] = removed.last }
        return removed
    }

    /// Erases the copies of messages that were removed from `messages`.
    func blank(_ channel: Int64, through last: Int64, _ db: Database) throws {
        for place in index[channel].prefix(while: { $0.seq <= last }) { _ = try blank(place, db) }
    }

    private func blank(_ place: Place, _ db: Database) throws -> Int64 {
        var body = try FastStatement(
            db,
            "SELECT length(body) FROM \(place.table.name) WHERE n = ? AND deleted IS NULL")
        defer { body.reset() }
        try body.bind(place.row)
        guard try body.step() else { return 0 }
        let bytes = body.integer(0)
        body.reset()
        var row = try FastStatement(
            db, "UPDATE \(place.table.name) SET body = ?, deleted = 1 WHERE n = ?")
        try row.bind(AppendRules.nothing)
        try row.bind(place.row)
        try row.run()
        return bytes - Int64(AppendRules.nothing.count)
    }
}

extension FastStatement {
    static let messageColumns =
        "channel, seq, prev, id, time, sender, body, change, target, deleted"

    /// Binds ``messageColumns``.
    mutating func bind(_ event: ServerFrame.Event, _ channel: Int64) throws {
        try bind(channel)
        try bind(event.seq)
        try bind(event.prev == event.seq - 1 ? nil : event.prev)
        try bind(event.id.text)
        try bind(event.time.milliseconds)
        if let from = event.from { try bind(from.text) } else { try bindNull() }
        try bind(event.body)
        switch event.change {
        case .edits?: try bind(StoredChange.edit)
        case .deletes?: try bind(StoredChange.deletion)
        case nil: try bindNull()
        }
        try bind(event.change?.target)
        try bind(event.isDeleted ? 1 : nil)
    }
}
