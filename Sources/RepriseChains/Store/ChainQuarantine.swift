package import GRDB
import RepriseCore

/// The end of a chain whose rows cannot be read: its entries end, and the next chain of its name
/// begins.
package enum ChainQuarantine {
    /// What its row still says.
    package struct Found: Sendable {
        package let id: String
        let definition: String
        let name: String?
    }

    /// Writes it; nil: it has left, or was quarantined before.
    ///
    /// `notifies` says whether the end of a chain of this definition is shown.
    @discardableResult
    package static func write(
        _ seq: Int64, why: String, retention: Duration, _ db: Database,
        _ journal: some ChainEntries, notifies: (_ definition: String) -> Bool
    ) throws -> Found? {
        let row = try Row.fetchOne(
            db,
            sql: "SELECT id, definition, name FROM chain WHERE seq = ? AND state IS NOT 13",
            arguments: [seq])
        guard let row else { return nil }
        let found = Found(
            id: String.fromDatabaseValue(row[0]) ?? "",
            definition: String.fromDatabaseValue(row[1]) ?? "",
            name: String.fromDatabaseValue(row[2]))
        var writes = ChainWrites(chain: seq, id: found.id, name: found.name)
        (writes.state, writes.reason) = (.quarantined, "corrupt: \(why)")
        writes.notifies = notifies(found.definition)
        try writes.perform(in: db, journal, retention: retention)
        return found
    }
}
