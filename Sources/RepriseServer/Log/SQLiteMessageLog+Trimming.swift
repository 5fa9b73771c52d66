import GRDB
package import RepriseCore
package import RepriseWire

extension SQLiteMessageLog {
    /// How many messages one transaction takes away: the writer waits no longer than for an ordinary batch.
    private static let trimBatch: Int64 = 4_096
    /// How many channels are looked at in one read.
    private static let channelBatch = 1_024

    package func trim(_ channel: ChannelName, through: Int64) async throws -> ChannelState {
        while try await commit({ try Self.trimStep(channel, through: through, &$0, $1) }) {}
        return try await state(of: channel)
    }

    package func trim(_ policy: RetentionPolicy, now: WallTime) async throws {
        var last: Int64? = policy.count == nil && policy.age == nil ? nil : 0
        while let key = last {
            let due = try await read { try Self.due(behind: key, policy, now, $0) }
            for channel in due.channels {
                _ = try await trim(channel.name, through: channel.through)
            }
            last = due.last
        }
        let limit = now.advanced(by: .zero - configuration.idLife)
        while try await commit({ memory, db in try memory.forgetRun(before: limit, db) }) {}
    }

    /// Takes away one transaction's worth.
    ///
    /// - Returns: whether there is more to take.
    static func trimStep(
        _ name: ChannelName, through: Int64, _ memory: inout LogMemory, _ db: Database
    ) throws -> Bool {
        let key = try Int64.fetchOne(
            db, sql: "SELECT key FROM channels WHERE name = ?", arguments: [name.text])
        guard let key else { return false }
        // The floor is the sequence of the last message taken, so that no range lies across it.
        let last = try Int64.fetchOne(
            db,
            sql: """
                SELECT max(seq) FROM (SELECT seq FROM messages
                WHERE channel = ? AND seq <= ? ORDER BY seq LIMIT ?)
                """, arguments: [key, through, trimBatch])
        guard let last else { return false }
        try db.execute(
            sql: "DELETE FROM messages WHERE channel = ? AND seq <= ?", arguments: [key, last])
        let count = Int64(db.changesCount)
        try db.execute(
            sql: "UPDATE channels SET floor = ?, count = count - ? WHERE key = ?",
            arguments: [last, count, key])
        memory.trimmed(name, by: count)
        return count == trimBatch
    }

    /// What a policy takes away of some channels.
    struct Due: Sendable {
        var channels: [(name: ChannelName, through: Int64)]
        /// The last channel that was looked at, by its key; nil behind the last of all.
        var last: Int64?
    }

    static func due(
        behind key: Int64, _ policy: RetentionPolicy, _ now: WallTime, _ db: Database
    ) throws -> Due {
        let cut = policy.age.map { now.advanced(by: .zero - $0).milliseconds }
        let rows = try Row.fetchAll(
            db, sql: "SELECT key, name, count FROM channels WHERE key > ? ORDER BY key LIMIT ?",
            arguments: [key, channelBatch])
        let channels = try rows.map { row in
            let key: Int64 = row["key"]
            let excess = policy.count.map { (row["count"] as Int64) - max($0, 0) } ?? 0
            let through = max(
                try lastSequence(of: key, first: excess, db),
                try cut.map { try lastSequence(of: key, before: $0, db) } ?? 0)
            return (name: try ChannelName(row["name"]), through: through)
        }
        return Due(channels: channels.filter { $0.through > 0 }, last: rows.last?["key"])
    }

    /// The sequence of the channel's `count`th oldest message; 0 if there is none.
    private static func lastSequence(
        of key: Int64, first count: Int64, _ db: Database
    ) throws -> Int64 {
        guard count > 0 else { return 0 }
        return try Int64.fetchOne(
            db, sql: "SELECT seq FROM messages WHERE channel = ? ORDER BY seq LIMIT 1 OFFSET ?",
            arguments: [key, count - 1]) ?? 0
    }

    /// The sequence of the channel's last message that is older than `time`; 0 if there is none.
    private static func lastSequence(
        of key: Int64, before time: Int64, _ db: Database
    ) throws -> Int64 {
        // Times never go back within a channel, so the first young message ends the search.
        let young = try Int64.fetchOne(
            db,
            sql: "SELECT seq FROM messages WHERE channel = ? AND time >= ? ORDER BY seq LIMIT 1",
            arguments: [key, time])
        return try Int64.fetchOne(
            db, sql: "SELECT max(seq) FROM messages WHERE channel = ? AND seq < ?",
            arguments: [key, young ?? .max]) ?? 0
    }
}
