import GRDB
import RepriseCore
import RepriseWire

/// The writer's cache between commits, so that storing a message reads nothing from the disk.
///
/// Changed inside the transaction and kept only if it commits: `SQLiteMessageLog` drops it
/// otherwise, and the next transaction reads anew. So it is never ahead of the disk.
struct LogMemory: Sendable {
    /// The most head rows in memory.
    private static let channelLimit = 65_536
    /// The most users whose owner hashes are cached.
    private static let ownerLimit = 65_536

    /// A head row.
    private struct Channel {
        var head: AppendRules.Head
        /// Whether the head row must still be written in this transaction.
        var isChanged = false
        /// Whether its messages of this transaction go to `messages` at once.
        var isDense = false
    }

    private static let placing = RowInsertion(into: "messages", FastStatement.messageColumns)

    private var channels: [ChannelName: Channel] = [:]
    /// The channels of the current batch whose messages go to their channel at once.
    private var dense: Set<ChannelName> = []
    private var changed: [ChannelName] = []
    /// Messages that go to their channel at once, which ``write(_:)`` stores.
    private var unwritten: [(event: ServerFrame.Event, channel: Int64)] = []
    private(set) var ids: KnownIDs
    var arrivals: Arrivals
    private var awaited: AwaitedMessages
    private var owners: [UserID: Int64] = [:]
    /// Whether it is noted who is mentioned: not by the former rules of a cluster.
    var notesMentions = true

    /// `index` is for readers; it learns what is in the database.
    init(_ db: Database, _ index: ArrivalIndex, _ configuration: SQLiteMessageLog.Configuration)
        throws
    {
        ids = try KnownIDs(db, runLength: configuration.idsPerRun)
        awaited = try AwaitedMessages(db, most: configuration.awaitedMessages)
        arrivals = try Arrivals(db, index, turn: configuration.arrivalsPerTurn)
    }

    /// Stores a batch in the open transaction.
    mutating func append(
        _ batch: [NewMessage], now: WallTime, _ db: Database
    ) throws -> [AppendResult] {
        if channels.count > Self.channelLimit { channels.removeAll() }
        var results: [AppendResult] = []
        results.reserveCapacity(batch.count)
        var newest = now
        dense = Self.dense(batch)
        var index = batch.startIndex
        while index < batch.endIndex {
            let name = batch[index].channel
            var channel = try channel(name, db)
            while index < batch.endIndex, batch[index].channel == name {
                results.append(try append(batch[index], &channel, now: now, db))
                newest = max(newest, results[index].time ?? newest)
                index += 1
            }
            channels[name] = channel
        }
        try write(db)
        try writeHeads(db)
        try ids.seal(newest: newest, db)
        try arrivals.advance(db)
        return results
    }

    /// The channels with so many messages in a batch that they are stored together.
    private static func dense(_ batch: [NewMessage]) -> Set<ChannelName> {
        guard batch.count >= Arrivals.dense else { return [] }
        var counts: [ChannelName: Int] = [:]
        var rest = batch[...]
        while let name = rest.first?.channel {
            let others = rest.drop { $0.channel == name }
            counts[name, default: 0] += rest.count - others.count
            rest = others
        }
        return Set(counts.lazy.filter { $0.value >= Arrivals.dense }.map(\.key))
    }

    /// Stores the messages so far, before anything looks for one of them in its table.
    private mutating func write(_ db: Database) throws {
        try Self.placing.run(unwritten, db) { try $0.bind($1.event, $1.channel) }
        unwritten.removeAll(keepingCapacity: true)
        try arrivals.write(db)
    }

    /// Forgets ids; see `KnownIDs/forget(_:_:)`.
    mutating func forget(_ run: Int64, _ db: Database) throws -> Bool {
        try ids.forget(run, db)
    }

    /// Applies trimming to a cached head row.
    mutating func trimmed(_ name: ChannelName, by count: Int64, bytes: Int64) {
        channels[name]?.head.count -= count
        channels[name]?.head.bytes -= bytes
    }

    /// `known` is its channel, nil if that has no messages yet.
    private mutating func append(
        _ message: NewMessage, _ known: inout Channel?, now: WallTime, _ db: Database
    ) throws -> AppendResult {
        if message.change != nil { try write(db) }
        let decision = try AppendRules.decide(
            message, in: known?.head,
            known: { try ids.known($0, db) }, awaits: { awaited.contains($0) },
            target: {
                try arrivals.target($0.seq, in: $0.channel, db) ?? StoredChange.target(at: $0, db)
            })
        switch decision {
        case .answer(let result): return result
        case .arrived(let position):
            try awaited.remove(position, db)
            return .duplicate(seq: position.seq)
        case .store, .bury: break
        }
        var channel = try known ?? create(message.channel, now: now, db)
        if !channel.isChanged {
            channel.isDense = dense.contains(message.channel)
            if channel.isDense { _ = try arrivals.move(channel.head.key, db) }
        }
        let result = try store(message, decision, &channel, now: now, db)
        if !channel.isChanged { changed.append(message.channel) }
        channel.isChanged = true
        known = channel
        return result
    }

    private mutating func store(
        _ message: NewMessage, _ decision: AppendRules.Decision, _ channel: inout Channel,
        now: WallTime, _ db: Database
    ) throws -> AppendResult {
        switch decision {
        case .answer(let result): return result
        case .arrived(let position): return .duplicate(seq: position.seq)
        case .store(let change):
            let event = channel.head.take(message, change, now: now)
            try insert(event, owner: owner(event.from), in: channel, db)
            if case .deletes(let target) = change {
                channel.head.bytes -= try StoredChange.blank(target, in: channel.head.key, db)
                channel.head.bytes -= try arrivals.blank(target, in: channel.head.key, db)
                try db.cachedStatement(
                    sql: "DELETE FROM mentions WHERE channel = ? AND seq = ?"
                ).execute(arguments: [channel.head.key, target])
            }
            return .stored(event)
        case .bury(let id):
            let target = channel.head.bury(id, by: message, now: now)
            let deletion = channel.head.take(message, .deletes(target.seq), now: now)
            try insert(
                target, owner: owner(AppendRules.owner(ofBuriedBy: message)), in: channel, db)
            try insert(deletion, owner: owner(deletion.from), in: channel, db)
            try awaited.insert(.init(channel: channel.head.key, seq: target.seq), db)
            return .buried(target: target, deletion: deletion)
        }
    }

    private mutating func insert(
        _ event: ServerFrame.Event, owner: Int64?, in channel: Channel, _ db: Database
    ) throws {
        let key = channel.head.key
        if channel.isDense {
            unwritten.append((event, key))
        } else {
            arrivals.insert(event, key)
        }
        if notesMentions, event.change == nil {
            for user in Mentions(in: event.body).users where user != event.from {
                try db.cachedStatement(
                    sql: "INSERT OR REPLACE INTO mentions (channel, user, seq) VALUES (?, ?, ?)"
                ).execute(arguments: [key, user.text, event.seq])
            }
        }
        let known = AppendRules.Known(.init(channel: key, seq: event.seq), owner: owner)
        ids.insert(event.id, known)
    }

    private mutating func owner(_ user: UserID?) -> Int64? {
        guard let user else { return nil }
        if let owner = owners[user] { return owner }
        if owners.count >= Self.ownerLimit { owners.removeAll() }
        let owner = AppendRules.owner(user)
        owners[user] = owner
        return owner
    }

    private mutating func channel(_ name: ChannelName, _ db: Database) throws -> Channel? {
        if let channel = channels[name] { return channel }
        var row = try FastStatement(
            db, "SELECT key, head, count, time, bytes FROM heads WHERE name = ?")
        defer { row.reset() }
        try row.bind(name.text)
        guard try row.step() else { return nil }
        let channel = Channel(
            head: .init(
                key: row.integer(0), seq: row.integer(1), count: row.integer(2),
                bytes: row.integer(4), time: WallTime(milliseconds: row.integer(3))))
        channels[name] = channel
        return channel
    }

    private func create(_ name: ChannelName, now: WallTime, _ db: Database) throws -> Channel {
        var row = try FastStatement(
            db, "INSERT INTO heads (name, head, count, time) VALUES (?, 0, 0, ?)")
        try row.bind(name.text)
        try row.bind(now.milliseconds)
        try row.run()
        return Channel(
            head: .init(key: db.lastInsertedRowID, seq: 0, count: 0, bytes: 0, time: now))
    }

    private mutating func writeHeads(_ db: Database) throws {
        for name in changed {
            guard let channel = channels[name] else { continue }
            var row = try FastStatement(
                db, "UPDATE heads SET head = ?, count = ?, bytes = ?, time = ? WHERE key = ?")
            try row.bind(channel.head.seq)
            try row.bind(channel.head.count)
            try row.bind(channel.head.bytes)
            try row.bind(channel.head.time.milliseconds)
            try row.bind(channel.head.key)
            try row.run()
            channels[name]?.isChanged = false
        }
        changed.removeAll(keepingCapacity: true)
    }
}
