package import Foundation
import GRDB
package import RepriseCore
package import RepriseJournal

/// A tap, an action or a link, and its outcome, from the owner's records in a journal.
package struct ReminderRouteReading: Hashable, Sendable {
    package var entry: String
    package var at: WallTime
    /// `tap`, `action`, `link` or `app`.
    package var source: String
    /// Nil: no readable route.
    package var route: Route?
    package var action: String?
    /// The name of the resolution; nil: the store has not been asked yet, or has not answered.
    package var resolution: String?
    package var reason: String?
    package var resolved: WallTime?
    /// The number of dispatches to the app.
    package var handed: Int
    package var presented: WallTime?

    /// Reads a journal without disturbing the process that owns it.
    ///
    /// - Parameters:
    ///   - folder: the journal's folder.
    ///   - schemas: of all features.
    ///   - limit: the number of newest ones to read.
    /// - Returns: newest first.
    /// - Throws: as `Journal.peek`.
    package static func read(
        at folder: URL, schemas: [JournalSchema], limit: Int
    ) throws -> [ReminderRouteReading] {
        try Journal.peek(at: folder, schemas: schemas) { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM reminderRoute ORDER BY at DESC, entry LIMIT ?",
                arguments: [max(0, limit)]
            ).map(Self.init)
        } ?? []
    }

    private init(_ row: Row) throws {
        entry = try row.checked("entry")
        at = WallTime(milliseconds: try row.checked("at"))
        source = try row.checked("source")
        route = (try row.checked("route") as String?).flatMap {
            try? JSONDecoder().decode(Route.self, from: Data($0.utf8))
        }
        action = try row.checked("action")
        resolution = try row.checked("resolution")
        reason = try row.checked("reason")
        resolved = (try row.checked("resolved") as Int64?).map(WallTime.init(milliseconds:))
        handed = try row.checked("handed")
        presented = (try row.checked("presented") as Int64?).map(WallTime.init(milliseconds:))
    }
}
