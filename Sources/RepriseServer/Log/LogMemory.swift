import GRDB
import RepriseCore
import RepriseWire

/// What the writer remembers between two commits, so that storing a message reads nothing from the disk.
///
/// It is changed inside the transaction and kept only if that commits: `SQLiteMessageLog` throws it away otherwise, and
/// the next transaction reads anew. So it is never ahead of the disk.
struct LogMemory: Sendable {
    /// How many head rows stay in memory.
    private static let channelLimit = 65_536

    /// A head row.
    private struct Channel {
        var head: AppendRules.Head
        /// Whether the head row is still to be written in this transaction.
        var isChanged = false
    }

    /// The two statements that run once a message.
    private struct Insertions {
        var id: FastStatement
        private var message: FastStatement

        init(_ db: Database) throws {
            id = try KnownIDs.insertion(db)
            message = try FastStatement(
                db,
                """
                INSERT INTO messages (channel, seq, prev, id, time, body)
                VALUES (?, ?, ?, ?, ?, ?)
                """)
        }

        mutating func insert(_ event: ServerFrame.Event, _ key: Int64) throws {
            try message.bind(key)
            try message.bind(event.seq)
            if event.prev == event.seq - 1 {
                try message.bindNull()
            } else {
                try message.bind(event.prev)
            }
            try message.bind(event.id.text)
            try message.bind(event.time.milliseconds)
            try message.bind(event.body)
            try message.run()
        }
    }

    private var channels: [ChannelName: Channel] = [:]
    private var changed: [ChannelName] = []
    private(set) var ids: KnownIDs

    init(_ db: Database, idsPerRun: Int) throws {
        ids = try KnownIDs(db, runLength: idsPerRun)
    }

    /// Stores a batch within the transaction that is open.
    mutating func append(
        _ batch: [NewMessage], now: WallTime, _ db: Database
    ) throws -> [AppendResult] {
        if channels.count > Self.channelLimit { channels.removeAll() }
        var results: [AppendResult] = []
        results.reserveCapacity(batch.count)
        var newest = now
        var inserting = try Insertions(db)
        for message in batch {
            let result = try append(message, now: now, &inserting, db)
            if case .stored(let event) = result { newest = max(newest, event.time) }
            results.append(result)
        }
        try writeHeads(db)
        try ids.sealIfFull(newest: newest, db)
        return results
    }

    /// Forgets ids; see `KnownIDs/forgetRun(before:_:)`.
    mutating func forgetRun(before limit: WallTime, _ db: Database) throws -> Bool {
        try ids.forgetRun(before: limit, db)
    }

    /// Takes over what trimming has changed in a head row.
    mutating func trimmed(_ name: ChannelName, by count: Int64) {
        channels[name]?.head.count -= count
    }

    private mutating func append(
        _ message: NewMessage, now: WallTime, _ inserting: inout Insertions, _ db: Database
    ) throws -> AppendResult {
        let known = try channel(message.channel, db)
        let obstacle = try AppendRules.obstacle(to: message, in: known?.head.key) {
            try ids.position(of: $0, db)
        }
        if let obstacle { return obstacle }
        var channel = try known ?? create(message.channel, now: now, db)
        let event = try channel.head.take(message, now: now)
        try inserting.insert(event, channel.head.key)
        try ids.insert(
            event.id, at: .init(channel: channel.head.key, seq: event.seq), with: &inserting.id)
        if !channel.isChanged { changed.append(message.channel) }
        channel.isChanged = true
        channels[message.channel] = channel
        return .stored(event)
    }

    private mutating func channel(_ name: ChannelName, _ db: Database) throws -> Channel? {
        if let channel = channels[name] { return channel }
        var row = try FastStatement(
            db, "SELECT key, head, count, time FROM channels WHERE name = ?")
        defer { row.reset() }
        try row.bind(name.text)
        guard try row.step() else { return nil }
        let channel = Channel(
            head: .init(
                key: row.integer(0), seq: row.integer(1), count: row.integer(2),
                time: WallTime(milliseconds: row.integer(3))))
        channels[name] = channel
        return channel
    }

    private func create(_ name: ChannelName, now: WallTime, _ db: Database) throws -> Channel {
        var row = try FastStatement(
            db, "INSERT INTO channels (name, head, count, time) VALUES (?, 0, 0, ?)")
        try row.bind(name.text)
        try row.bind(now.milliseconds)
        try row.run()
        return Channel(head: .init(key: db.lastInsertedRowID, seq: 0, count: 0, time: now))
    }

    private mutating func writeHeads(_ db: Database) throws {
        for name in changed {
            guard let channel = channels[name] else { continue }
            var row = try FastStatement(
                db, "UPDATE channels SET head = ?, count = ?, time = ? WHERE key = ?")
            try row.bind(channel.head.seq)
            try row.bind(channel.head.count)
            try row.bind(channel.head.time.milliseconds)
            try row.bind(channel.head.key)
            try row.run()
            channels[name]?.isChanged = false
        }
        changed.removeAll(keepingCapacity: true)
    }
}
