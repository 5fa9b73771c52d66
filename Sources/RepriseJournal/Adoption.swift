import GRDB
import RepriseCore

/// The result of an adoption.
package struct Adoption: Hashable, Sendable {
    /// Entries that are in the new journal now.
    package var adopted = 0
    /// Entries whose kind says that they end at sign-in.
    package var expired = 0
}

/// An entry on its way to another journal.
struct WaitingEntry: Sendable {
    let row: EntryRow
    /// When its delay or its next attempt is due.
    let due: WallTime?

    /// Unfinished entries that are not in flight, oldest first; those up to `last` have ended.
    static func page(after last: Int64, limit: Int, in db: Database) throws
        -> [Result<WaitingEntry, EntryRow.Broken>]
    {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT \(EntryRow.columns), due FROM entry
                WHERE state < 3 AND seq > ? ORDER BY seq LIMIT ?
                """, arguments: [last, limit])
        return rows.map { row in
            let due: DatabaseValue = row["due"]
            return Result { () throws(EntryRow.Broken) in
                WaitingEntry(
                    row: try EntryRow(row),
                    due: Int64.fromDatabaseValue(due).map { WallTime(milliseconds: $0) })
            }
        }
    }
}
