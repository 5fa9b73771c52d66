package import Foundation
package import RepriseChannels
package import RepriseCore
import RepriseJournal
package import RepriseNotices
package import RepriseWire

/// What a device's journal knows of one message: `reprise trace`.
package struct MessageTrace: Hashable, Sendable {
    package let message: MessageReading
    package let notice: NoticeTrace

    /// Whether the journal knows the message.
    package var isKnown: Bool {
        message.isKnown || notice.decided != nil || notice.shownByExtension != nil
    }

    /// The newest known sequence.
    package var seq: Int64? { message.seq ?? notice.decided?.seq }

    /// Where the message belongs.
    package var channel: String? { message.channel ?? notice.decided?.channel }

    /// Reads a journal without disturbing the process that owns it.
    ///
    /// - Parameters:
    ///   - id: the message.
    ///   - channel: its channel, where the caller knows it.
    ///   - folder: the journal's folder.
    /// - Returns: nil if the owner has not made its tables yet.
    /// - Throws: ``RepriseCore/RepriseError`` `.notAJournal`, `.journalNewer`, `.corrupt`,
    ///   `.diskFailed`, `.busy`.
    package static func read(
        _ id: EntryID, in channel: ChannelName?, at folder: URL
    ) throws -> MessageTrace? {
        try Journal.peek(at: folder, schemas: AccountClient.featureSchemas) { db in
            let message = try MessageReading(id, in: channel, db)
            let notice = try NoticeTrace(
                id, in: try message.channel.map { try ChannelName($0) },
                arrival: message.received?.arrival, db)
            return MessageTrace(message: message, notice: notice)
        }
    }
}
