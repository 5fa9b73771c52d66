import GRDB
public import RepriseCore
import RepriseJournal
import RepriseWire

/// The unsent messages and dead letters of one channel, or of all.
///
/// ```swift
/// for letter in try await general.outbox.deadLetters() where letter.code == .forbidden {
///     try await general.outbox.withdraw(letter.id)
/// }
/// ```
///
/// A failed message never holds up those behind it.
public struct Outbox: Sendable {
    let channels: Channels
    /// nil: all channels.
    let channel: ChannelName?

    /// How many messages and changes are neither stored by the server nor failed.
    ///
    /// - Returns: the number, as of the last commit.
    /// - Throws: the journal's errors.
    public func waiting() async throws -> Int {
        try await channels.journal.read { [channel] db in try Self.waiting(in: channel, db) }
    }

    /// The messages that the server refused for good, or that are too old to be sent again; oldest
    /// first.
    ///
    /// Received messages that could not be handled are in `failures(of:limit:)`.
    ///
    /// - Parameter limit: the page size, at most ``OutboxLimits/listed``.
    /// - Returns: at most `limit` of them. They stay until ``retry(_:)``, ``withdraw(_:)`` or the
    ///   journal's retention.
    /// - Throws: the journal's errors.
    public func deadLetters(limit: Int = 100) async throws -> [DeadLetter] {
        try await channels.journal.read { [channel] db in
            try Self.deadLetters(in: channel, limit: limit, order: "seq", db)
        }
    }

    /// Those that failed last, however many there are; oldest first.
    ///
    /// - Parameter limit: the most, at most ``OutboxLimits/listed``.
    /// - Returns: at most `limit` of them.
    /// - Throws: the journal's errors.
    package func newestDeadLetters(limit: Int = 100) async throws -> [DeadLetter] {
        try await channels.journal.read { [channel] db in
            // A finished entry is due when it is removed, so those that ended last are due last.
            try Self.deadLetters(in: channel, limit: limit, order: "due DESC, seq DESC", db)
                .reversed()
        }
    }

    /// Sends a dead letter again, with the same id and all its attempts, in its old place if others
    /// of its channel wait.
    ///
    /// - Parameter id: of a dead letter.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry`, and the journal's errors.
    public func retry(_ id: EntryID) async throws {
        let (channels, journal) = (channels, channels.journal)
        try await journal.write { [channel] db in
            guard let entry = try Self.entry(id, in: channel, db) else { throw Self.unknown(id) }
            try journal.retry(id, in: db)
            try db.execute(sql: "DELETE FROM channelsRefused WHERE id = ?", arguments: [id.text])
            if let name = entry.partitionKey.flatMap({ try? ChannelName($0) }) {
                channels.notify(name, after: db)
            }
        }
    }

    /// Withdraws a message.
    ///
    /// A message that was never sent, or that the server has refused, is removed at once. One that
    /// the server has, or may have, is followed by a deletion, which waits for a connection like
    /// any message.
    ///
    /// - Parameter id: of a message of this device.
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if this device has not published it,
    ///   or so long ago that it is forgotten (then `delete(_:)`); `.full`; and the
    ///   journal's errors.
    public func withdraw(_ id: EntryID) async throws {
        let channels = channels
        try await channels.journal.write { [channel] db in
            guard let entry = try Self.entry(id, in: channel, db),
                let name = entry.partitionKey.flatMap({ try? ChannelName($0) })
            else { throw Self.unknown(id) }
            try channels.withdraw(entry, from: name, db)
            channels.notify(name, after: db)
        }
    }

    private static func unknown(_ id: EntryID) -> RepriseError {
        RepriseError(.noSuchEntry, "No message of this device has the id \(id).")
    }

    static func entry(_ id: EntryID, in channel: ChannelName?, _ db: Database) throws -> Entry? {
        guard let entry = try Journal.entry(id, in: db), entry.kind == OutboxMachine.kind.name,
            channel == nil || entry.partitionKey == channel?.text
        else { return nil }
        return entry
    }

    static func waiting(in channel: ChannelName?, _ db: Database) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT COUNT(*) FROM entry WHERE lane IS NOT NULL AND state < 10
                    AND kind = ? AND (lane = ? OR ? IS NULL)
                    """),
            arguments: [OutboxMachine.kind.name, channel?.text, channel?.text]) ?? 0
    }

    private static func deadLetters(
        in channel: ChannelName?, limit: Int, order: String, _ db: Database
    ) throws -> [DeadLetter] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT e.id, code, message, time FROM entry AS e
                LEFT JOIN channelsRefused AS r ON r.id = e.id
                WHERE state = 13 AND kind = ? AND (lane = ? OR ? IS NULL)
                ORDER BY \(order) LIMIT ?
                """,
            arguments: [
                OutboxMachine.kind.name, channel?.text, channel?.text,
                min(max(limit, 0), OutboxLimits.listed),
            ])
        return try rows.compactMap { row in
            guard let id = String.fromDatabaseValue(row[0]).flatMap({ try? EntryID($0) }),
                let entry = try Journal.entry(id, in: db),
                let channel = entry.partitionKey.flatMap({ try? ChannelName($0) }),
                let content = try? OutboxContent(entry)
            else { return nil }
            return DeadLetter(
                id: id, channel: channel, change: content.change, body: content.body,
                recordedAt: entry.recordedAt,
                code: String.fromDatabaseValue(row[1]).map { RefusalCode($0) },
                reason: String.fromDatabaseValue(row[2]) ?? entry.reason ?? "",
                refusedAt: Int64.fromDatabaseValue(row[3]).map { WallTime(milliseconds: $0) })
        }
    }
}
