import Foundation
package import RepriseCore
import RepriseJournal
package import RepriseWire

/// A service extension's record of a shown message: the payload of an entry of
/// ``NoticeKinds/shown``, by the spool.
///
/// It only marks a message as shown; it never covers or applies it.
package struct ShownRecord: Hashable, Sendable, Codable {
    /// The message.
    package var id: String
    /// Its channel.
    package var channel: String
    /// Its sequence.
    package var seq: Int64
    /// When, by the device's calendar, in milliseconds since 1970.
    package var at: Int64
    /// The reason for its presentation: a ``RepriseWire/NoticeDecision/Reason``.
    package var reason: String
    /// The bits of ``RepriseCore/PresentationOptions``.
    package var presentation: Int
    /// The badge that it was given; nil: none.
    package var badge: Int64?
    /// When the server counted it, if it was the server.
    package var badgeAsOf: Int64?
    /// The channel's head when the push was made.
    package var head: Int64
    /// When the message was stored, by the server's clock.
    package var time: Int64?
    /// The server's count, whether it was used or not.
    package var counted: Int64?
    /// When, by the server's clock.
    package var countedAsOf: Int64?
    /// Whether it counts as unread.
    package var isUnread: Bool
    /// Why the mirror could not be asked, as a ``RepriseCore/RepriseError/Code``; nil: it was.
    package var withoutMirror: String?

    /// A record of a push that names its message.
    package init(_ hint: PushHint, of id: EntryID, at now: WallTime) {
        self.id = id.text
        channel = hint.channel.text
        seq = hint.seq
        at = now.milliseconds
        reason = NoticeDecision.Reason.new.rawValue
        presentation = 0
        head = hint.head
        time = hint.time?.milliseconds
        counted = hint.badge?.count
        countedAsOf = hint.badge?.asOf.milliseconds
        isUnread = true
    }
}

extension ShownRecord {
    /// The one entry of a message, however often it was pushed.
    package static func entryID(of message: String) -> EntryID {
        .hash(of: message, prefix: "shown-")
    }

    /// Decodes an entry's payload.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, and what the decoder throws.
    package init(payload: [UInt8]) throws {
        self = try ForeignJSON.decode(ShownRecord.self, from: payload)
    }

    /// The entry for the spool.
    package func entry() throws -> NewEntry {
        NewEntry(
            id: Self.entryID(of: id), kind: NoticeKinds.shown, source: "extension",
            payload: [UInt8](try JSONEncoder().encode(self)))
    }
}
