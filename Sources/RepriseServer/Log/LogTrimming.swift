import GRDB
import RepriseCore
import RepriseWire

/// Decides which messages retention removes, and removes them in small transactions.
enum LogTrimming {
    /// The most messages removed in one transaction: the writer waits no longer than for an
    /// ordinary batch.
    private static let messages: Int64 = 4_096
    /// The most messages moved in one transaction.
    private static let gathered = 1_024
    /// The most channels per read.
    private static let channels = 1_024

    /// Removes one transaction's messages.
    ///
    /// - Returns: whether more remain.
    static func step(
        _ name: ChannelName, through: Int64, _ memory: inout LogMemory, _ db: Database
    ) throws -> Bool {
        let key = try Int64.fetchOne(
            db, sql: "SELECT key FROM heads WHERE name = ?", arguments: [name.text])
        guard let key else { return false }
        let sorted = try removeSorted(key, through: through, db)
        if let sorted { try memory.arrivals.blank(key, through: sorted.last, db) }
        // The newest are not moved first: that would take space, perhaps of a disk that is full.
        let arrived = try memory.arrivals.remove(
            key, through: through, atMost: Int(messages - (sorted?.count ?? 0)), db)
        // The floor is the sequence of the last removed message, so that no range spans it.
        guard let last = arrived?.last ?? sorted?.last else { return false }
        let count = (sorted?.count ?? 0) + (arrived?.count ?? 0)
        let bytes = (sorted?.bytes ?? 0) + (arrived?.bytes ?? 0)
        try db.execute(
            sql: """
                UPDATE heads SET floor = ?, count = count - ?, bytes = bytes - ? WHERE key = ?
                """, arguments: [last, count, bytes, key])
        try db.execute(
            sql: "DELETE FROM mentions WHERE channel = ? AND seq <= ?", arguments: [key, last])
        memory.trimmed(name, by: count, bytes: bytes)
        return count == messages
    }

    /// Messages that were removed: the last one's sequence, how many, and the size of their bodies.
    typealias Removed = (last: Int64, count: Int64, bytes: Int64)

    private static func removeSorted(
        _ key: Int64, through: Int64, _ db: Database
    ) throws -> Removed? {
        let taken = try Row.fetchOne(
            db,
            sql: """
                SELECT max(seq), sum(bytes) FROM (SELECT seq, length(body) AS bytes FROM messages
                WHERE channel = ? AND seq <= ? ORDER BY seq LIMIT ?)
                """, arguments: [key, through, messages])
        guard let taken, let last: Int64 = try taken.checked(0) else { return nil }
        try db.execute(
            sql: "DELETE FROM messages WHERE channel = ? AND seq <= ?", arguments: [key, last])
        return (last, Int64(db.changesCount), try taken.checked(1))
    }

    /// Moves a part of the newest messages, up to a row or up to the last one, to their channels,
    /// where ``due(_:_:_:_:_:)`` looks.
    ///
    /// Returns the row to go on with; nil if nothing is left to move.
    static func gather(
        through last: Int64?, _ memory: inout LogMemory, _ db: Database
    ) throws -> Int64? {
        let last = last ?? memory.arrivals.lastRow
        let count = try memory.arrivals.move(through: last, atMost: gathered, db)
        return count == gathered ? last : nil
    }

    /// A channel's extent.
    struct Kept: Sendable {
        let key: Int64
        let name: ChannelName
        let count: Int64
        let bytes: Int64
    }

    /// The next channels, sorted by key.
    static func kept(behind key: Int64, _ db: Database) throws -> [Kept] {
        try Row.fetchAll(
            db,
            sql: "SELECT key, name, count, bytes FROM heads WHERE key > ? ORDER BY key LIMIT ?",
            arguments: [key, channels]
        ).map {
            Kept(
                key: try $0.checked(0), name: try ChannelName($0.checked(1)),
                count: try $0.checked(2), bytes: try $0.checked(3))
        }
    }

    /// The channels that the policies trim, and how far.
    static func due(
        _ kept: [Kept], _ policy: RetentionPolicy, _ own: [ChannelName: RetentionPolicy],
        _ now: WallTime, _ db: Database
    ) throws -> [(name: ChannelName, through: Int64)] {
        try kept.compactMap { channel in
            // `DirectoryPublisher` shortens a directory.
            if channel.name.isDirectory { return nil }
            let policy = own[channel.name]?.over(policy) ?? policy
            let cut = policy.age.map { now.advanced(by: .zero - $0).milliseconds }
            let excess = policy.count.map { channel.count - max($0, 0) } ?? 0
            let bytes = policy.bytes.map { channel.bytes - max($0, 0) } ?? 0
            let through = max(
                try lastSequence(of: channel.key, first: excess, db),
                try cut.map { try lastSequence(of: channel.key, before: $0, db) } ?? 0,
                try lastSequence(of: channel.key, bytes: bytes, db))
            return through > 0 ? (channel.name, through) : nil
        }
    }

    /// The sequence of the channel's `count`th oldest message; 0 if there is none.
    private static func lastSequence(
        of key: Int64, first count: Int64, _ db: Database
    ) throws -> Int64 {
        guard count > 0 else { return 0 }
        // With fewer there, the younger ones have not been moved to them yet.
        return try Int64.fetchOne(
            db,
            sql: """
                SELECT coalesce((SELECT seq FROM messages WHERE channel = ?1
                ORDER BY seq LIMIT 1 OFFSET ?2), (SELECT max(seq) FROM messages WHERE channel = ?1))
                """, arguments: [key, count - 1]) ?? 0
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

    /// The sequence of the message with which the oldest have `bytes` bytes of bodies or more; 0 if
    /// none must be removed.
    private static func lastSequence(
        of key: Int64, bytes: Int64, _ db: Database
    ) throws -> Int64 {
        guard bytes > 0 else { return 0 }
        var row = try FastStatement(
            db, "SELECT seq, length(body) FROM messages WHERE channel = ? ORDER BY seq")
        defer { row.reset() }
        try row.bind(key)
        var (last, found): (Int64, Int64) = (0, 0)
        while found < bytes, try row.step() {
            last = row.integer(0)
            found += row.integer(1)
        }
        return last
    }
}
