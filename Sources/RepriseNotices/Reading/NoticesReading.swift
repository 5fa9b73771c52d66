package import Foundation
import GRDB
package import RepriseCore
package import RepriseJournal

/// Decisions about messages and their reasons, from the owner's records in a journal.
package struct NoticesReading: Hashable, Sendable {
    /// One message.
    package struct Decided: Hashable, Sendable {
        package var id: String
        package var channel: String
        package var seq: Int64
        package var at: WallTime
        /// `asked`, `standing`, `gone` or `silent`.
        package var standing: String
        /// Its first source: `push`, `extension`, `live` or `catchUp`.
        package var way: String
        /// A ``RepriseWire/NoticeDecision/Reason``, or `found`: it was in the notification centre
        /// before anybody here heard of it.
        package var reason: String
        package var presentation: PresentationOptions
        /// Why it is gone.
        package var ended: String?
        package var alerts: Int
        package var unconfirmed: Int
    }

    /// The badge by the journal.
    package var badge: Int64
    /// Unread messages of all channels.
    package var total: Int64
    /// The server's newest count, and when it counted.
    package var counted: Int64?
    package var asOf: WallTime?
    /// The badge last set in the system; nil: none, or an extension has set it since.
    package var shown: Int64?
    /// Channels with something unread.
    package var channels: Int
    /// How many messages were decided upon, by reason, the most first.
    package var counts: [Count] = []
    /// Newest first.
    package var decided: [Decided] = []

    package struct Count: Hashable, Sendable {
        package var what: String
        package var count: Int64
    }

    /// Reads a journal without disturbing the process that owns it.
    ///
    /// - Parameters:
    ///   - folder: the journal's folder.
    ///   - schemas: of all features.
    ///   - limit: the number of newest decisions to read.
    /// - Returns: nil if the owner has not made its tables yet.
    /// - Throws: as `Journal.peek`.
    package static func read(at folder: URL, schemas: [JournalSchema], limit: Int) throws
        -> NoticesReading?
    {
        try Journal.peek(at: folder, schemas: schemas) { db in try NoticesReading(db, limit) }
    }

    private init(_ db: Database, _ limit: Int) throws {
        let row = try NoticeBadgeRow.read(db)
        badge = row.effective.count
        total = row.total
        counted = row.counted
        asOf = row.counted == nil ? nil : WallTime(milliseconds: row.asOf)
        shown = row.shown
        channels =
            try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM noticesChannel WHERE unread > 0") ?? 0
        counts = try Row.fetchAll(
            db, sql: "SELECT what, count FROM noticesCount ORDER BY count DESC, what"
        ).map { Count(what: try $0.checked(0), count: try $0.checked(1)) }
        decided = try Row.fetchAll(
            db, sql: "SELECT * FROM noticesMessage ORDER BY decided DESC, seq DESC LIMIT ?",
            arguments: [max(0, limit)]
        ).map(Self.decided)
    }

    static func decided(_ row: Row) throws -> Decided {
        let standing: String =
            switch NoticeMachine.Status(rawValue: try row.checked("standing")) {
            case .asked: "asked"
            case .standing: "standing"
            case .gone: "gone"
            case .silent, nil: "silent"
            }
        return Decided(
            id: try row.checked("id"), channel: try row.checked("channel"),
            seq: try row.checked("seq"),
            at: WallTime(milliseconds: try row.checked("decided")), standing: standing,
            way: try row.checked("way"), reason: try row.checked("reason"),
            presentation: PresentationOptions(rawValue: try row.checked("presentation")),
            ended: try row.checked("ended"), alerts: try row.checked("alerts"),
            unconfirmed: try row.checked("unconfirmed"))
    }
}
