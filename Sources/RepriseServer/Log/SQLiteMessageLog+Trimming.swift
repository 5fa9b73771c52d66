import GRDB
package import RepriseCore
package import RepriseWire

extension SQLiteMessageLog {
    /// How many messages one transaction takes away: the writer waits no longer than for an ordinary batch.
    private static let trimBatch: Int64 = 4_096
    /// How many channels are looked at in one read.
    private static let channelBatch = 1_024

    package func trim(_ channel: ChannelName, through: Int64) async throws -> ChannelState {
        while try await trimStep(channel, through: through) {}
        return try await state(of: channel)
    }

    package func trim(_ policy: RetentionPolicy, now: WallTime) async throws {
        if policy.count != nil || policy.age != nil {
            var last: Int64 = 0
            while let key = try await trimChannels(behind: last, policy, now) { last = key }
        }
        let limit = now.advanced(by: .zero - configuration.idLife)
        while try await commit({ memory, db in try memory.forgetRun(before: limit, db) }) {}
    }

    /// Takes away one transaction's worth.
    ///
    /// - Returns: whether there is more to take.
    private func trimStep(_ name: ChannelName, through: Int64) async throws -> Bool {
        try await commit { memory, db in
            let key = try Int64.fetchOne(
                db, sql: "SELECT key FROM channels WHERE name = ?", arguments: [name.text])
            guard let key else { return false }
            // The floor is the sequence of the last message taken, so that no range lies across it.
            let last = try Int64.fetchOne(
                db,
                sql: """
                    SELECT max(seq) FROM (SELECT seq FROM messages
                    WHERE channel = ? AND seq <= ? ORDER BY seq LIMIT ?)
                    """, arguments: [key, through, Self.trimBatch])
            guard let last else { return false }
            try db.execute(
                sql: "DELETE FROM messages WHERE channel = ? AND seq <= ?", arguments: [key, last])
            let count = Int64(db.changesCount)
            try db.execute(
                sql: "UPDATE channels SET floor = ?, count = count - ? WHERE key = ?",
                arguments: [last, count, key])
            memory.trimmed(name, by: count)
            return count == Self.trimBatch
        }
    }

    /// Applies the policy to some channels.
    ///
    /// - Returns: the last channel's key; nil behind the last.
    private func trimChannels(
        behind key: Int64, _ policy: RetentionPolicy, _ now: WallTime
    ) async throws -> Int64? {
        let cut = policy.age.map { now.advanced(by: .zero - $0).milliseconds }
        let found = try await read { db in
            try Row.fetchAll(
                db, sql: "SELECT key, name, count FROM channels WHERE key > ? ORDER BY key LIMIT ?",
                arguments: [key, Self.channelBatch]
            ).map { row in
                let key: Int64 = row["key"]
                let excess = policy.count.map { (row["count"] as Int64) - max($0, 0) } ?? 0
                let through = max(
                    try Self.lastSequence(of: key, first: excess, db),
                    try cut.map { try Self.lastSequence(of: key, before: $0, db) } ?? 0)
                return (key: key, name: row["name"] as String, through: through)
            }
        }
        for channel in found where channel.through > 0 {
            _ = try await trim(try ChannelName(channel.name), through: channel.through)
        }
        return found.last?.key
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
