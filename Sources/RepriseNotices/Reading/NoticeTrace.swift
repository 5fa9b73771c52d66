package import GRDB
package import RepriseCore
import RepriseJournal
package import RepriseWire

/// What a journal knows of one message's notification.
package struct NoticeTrace: Hashable, Sendable {
    /// A tap, or an action.
    package struct Tap: Hashable, Sendable {
        package let at: WallTime
        /// `open`, `dismiss`, or the action's id.
        package let action: String
        package let resolution: String?
        package let reason: String?
        package let presented: WallTime?
    }

    /// The most taps that are read.
    package static let most = 20

    package let decided: NoticesReading.Decided?
    /// When the extension has shown it, by a record that no decision has taken up.
    package let shownByExtension: WallTime?
    /// Whether this device decides about the channel's messages.
    package let isWatched: Bool
    /// Whether it has looked at the message.
    package let isPassed: Bool
    /// Newest first.
    package let taps: [Tap]

    /// Reads in the current transaction.
    ///
    /// - Parameters:
    ///   - id: the message.
    ///   - channel: its channel, if that is known.
    ///   - arrival: its place in the journal; nil if it is not there.
    ///   - db: the journal's database.
    /// - Throws: database errors.
    package init(
        _ id: EntryID, in channel: ChannelName?, arrival: Int64?, _ db: Database
    ) throws {
        decided = try Row.fetchOne(
            db, sql: "SELECT * FROM noticesMessage WHERE id = ?", arguments: [id.text]
        ).map(NoticesReading.decided)
        let entry = try Journal.entry(ShownRecord.entryID(of: id.text), in: db)
        let record = entry.flatMap { try? ShownRecord(payload: $0.payload) }
        shownByExtension =
            decided == nil ? record.map { WallTime(milliseconds: $0.at) } : nil
        let row = try channel.flatMap { try NoticeChannelRow.find($0, db) }
        isWatched = row.map { $0.log != NoticeChannelRow.noLog } ?? false
        isPassed = row.map { $0.cursor >= arrival ?? .max } ?? false
        taps = try Row.fetchAll(
            db,
            sql: """
                SELECT at, action, resolution, reason, presented FROM noticesTap
                WHERE message = ? ORDER BY at DESC LIMIT ?
                """, arguments: [id.text, Self.most]
        ).map { row in
            Tap(
                at: WallTime(milliseconds: try row.checked(0)), action: try row.checked(1),
                resolution: try row.checked(2), reason: try row.checked(3),
                presented: try row.optionalInteger(4).map(WallTime.init(milliseconds:)))
        }
    }
}
