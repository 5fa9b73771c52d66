package import GRDB
package import RepriseCore

/// The removal of chains that have ended: their rows, tasks and logs.
///
/// The ledger counts on how they ended, and their numbers are never given again: what is still
/// under way for one of them reaches no other.
package enum ChainRemoval {
    /// At most so many in a transaction.
    package static let page = 50

    /// What became of the removal of one chain.
    package enum Result: Hashable, Sendable {
        /// It is removed; these files of its outputs are named by no row any more.
        case removed(files: [String])
        case isOpen
        case isGone
    }

    /// Removes one, if it has ended.
    package static func remove(_ id: String, _ db: Database) throws -> Result {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT seq, state FROM chain WHERE id = ?"), arguments: [id])
        guard let row else { return .isGone }
        guard Int.fromDatabaseValue(row[1]) ?? 13 >= 10 else { return .isOpen }
        return .removed(files: try remove([row], db))
    }

    /// Removes those of the first ``page`` behind a number that ended so long ago.
    ///
    /// - Returns: how many, the number of the last one, and the files of their outputs.
    package static func page(
        after seq: Int64, endedBefore moment: WallTime, _ db: Database
    ) throws -> (count: Int, last: Int64, files: [String]) {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT seq, state FROM chain WHERE state >= 10 AND seq > ?
                    AND \(ChainFilter.aged) <= ? ORDER BY seq LIMIT \(page)
                    """), arguments: [seq, moment.milliseconds])
        return (rows.count, rows.last?[0] ?? seq, try remove(rows, db))
    }

    /// Takes numbers and states of chains that have ended, and gives the files of their outputs.
    static func remove(_ rows: [Row], _ db: Database) throws -> [String] {
        var files: [String] = []
        for row in rows {
            guard let seq = Int64.fromDatabaseValue(row[0]) else { continue }
            files += try String.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT outputFile FROM chainTask
                        WHERE chain = ? AND outputFile IS NOT NULL
                        """), arguments: [seq])
            // A schedule keeps how its last run ended.
            try db.cachedStatement(
                sql: """
                    UPDATE chainSchedule SET runState = ?
                    WHERE run = (SELECT id FROM chain WHERE seq = ?)
                    """
            ).execute(arguments: [Int.fromDatabaseValue(row[1]), seq])
            for table in ["chainTask WHERE chain", "chainLog WHERE chain", "chain WHERE seq"] {
                try db.execute(sql: "DELETE FROM \(table) = ?", arguments: [seq])
            }
            try db.execute(
                sql: """
                    INSERT INTO chainNumber VALUES (1, ?)
                    ON CONFLICT (id) DO UPDATE SET last = MAX(last, excluded.last)
                    """, arguments: [seq])
            try db.execute(
                sql: """
                    INSERT INTO chainRetired VALUES (?, 1)
                    ON CONFLICT (state) DO UPDATE SET count = count + 1
                    """, arguments: [Int.fromDatabaseValue(row[1])])
        }
        return files
    }
}
