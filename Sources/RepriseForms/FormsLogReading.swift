package import Foundation
import GRDB
package import RepriseCore
package import RepriseJournal
import RepriseWire

/// A recorded event, what was decided about it, and its showings, from the owner's records in a
/// journal.
package struct FormsLogReading: Hashable, Sendable {
    /// A form that was granted for the event.
    package struct Showing: Hashable, Sendable {
        package var form: String
        package var granted: WallTime
        package var appeared: WallTime?
        package var dismissed: WallTime?
        /// `button`, `escape`, `close`, `submitted` or `host`.
        package var how: String?
    }

    /// Why a form did not come, or not yet: the newest reason of each.
    package struct Decision: Hashable, Sendable {
        package var form: String
        package var at: WallTime
        /// When it is decided again; nil: not by itself.
        package var until: WallTime?
        package var reason: String
    }

    package var id: EntryID
    /// The event's name; of one whose payload is not readable its kind.
    package var event: String
    /// The producer, such as `app`, `push` or `form`.
    package var source: String
    package var recordedAt: WallTime
    package var attempt: Int
    package var state: EntryState
    /// The decision, as docs/forms.md lists them; nil: none yet.
    package var reason: String?
    /// A JSON object; nil: not readable.
    package var properties: [UInt8]?
    /// In the order in which they were granted.
    package var showings: [Showing]
    /// In the order in which they were made.
    package var decisions: [Decision]

    /// Reads a journal without disturbing the process that owns it.
    ///
    /// - Parameters:
    ///   - folder: the journal's folder.
    ///   - schemas: of all features.
    ///   - limit: the number of newest events to read.
    /// - Returns: newest first.
    /// - Throws: as `Journal.peek`.
    package static func read(
        at folder: URL, schemas: [JournalSchema], limit: Int
    ) throws -> [FormsLogReading] {
        try Journal.peek(at: folder, schemas: schemas) { db in
            let family = FormsEvent.family
            let ids = try String.fetchAll(
                db,
                sql: """
                    SELECT id FROM entry WHERE kind = ?1 OR substr(kind, 1, ?2) = ?1 || '.'
                    ORDER BY seq DESC LIMIT ?3
                    """, arguments: [family, family.utf8.count + 1, max(0, limit)])
            return try ids.compactMap { id in
                try (try? EntryID(id)).flatMap { try Journal.entry($0, in: db) }
                    .map { try FormsLogReading($0, db) }
            }
        } ?? []
    }

    private init(_ entry: Entry, _ db: Database) throws {
        let content = try? EventContent(payload: entry.payload)
        id = entry.id
        event = content?.name ?? entry.kind
        source = entry.source
        recordedAt = entry.recordedAt
        attempt = entry.attempt
        state = entry.state
        reason = entry.reason
        properties = content?.properties
        showings = try Row.fetchAll(
            db,
            sql: """
                SELECT form, granted, appeared, dismissed, how FROM formsShowing
                WHERE entry = ? ORDER BY granted, id
                """, arguments: [entry.id.text]
        ).map { row in
            Showing(
                form: try row.text(0), granted: WallTime(milliseconds: try row.integer(1)),
                appeared: try row.optionalInteger(2).map(WallTime.init(milliseconds:)),
                dismissed: try row.optionalInteger(3).map(WallTime.init(milliseconds:)),
                how: try row.optionalText(4))
        }
        decisions = try Row.fetchAll(
            db,
            sql: """
                SELECT form, at, until, reason FROM formsDecision WHERE entry = ? ORDER BY at, form
                """, arguments: [entry.id.text]
        ).map { row in
            Decision(
                form: try row.text(0), at: WallTime(milliseconds: try row.integer(1)),
                until: try row.optionalInteger(2).map(WallTime.init(milliseconds:)),
                reason: try row.text(3))
        }
    }
}
