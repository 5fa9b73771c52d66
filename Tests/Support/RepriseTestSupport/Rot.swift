import GRDB

/// Changes values of a STRICT table to another type, as a disk does that rots, and no statement.
///
/// - Parameters:
///   - column: whose values change.
///   - type: as the table declares it.
///   - table: the column's.
///   - value: an SQL literal that SQLite does not convert to `type`.
///   - condition: which rows.
///   - path: the database, which is open elsewhere only if that is meant.
/// - Throws: SQLite's errors.
package func rot(
    _ column: String, _ type: String = "INTEGER NOT NULL", of table: String,
    to value: String = "'rotten'", where condition: String = "TRUE", in path: String
) throws {
    let (whole, lax) = ("\(column) \(type)", "\(column) ANY")
    func alter(_ from: String, _ to: String) -> String {
        """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, '\(from)', '\(to)') WHERE name = '\(table)';
        """
    }
    // A connection sees a schema as it was when it read it.
    for sql in [
        alter(whole, lax), "UPDATE \(table) SET \(column) = \(value) WHERE \(condition)",
        alter(lax, whole),
    ] {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { db in try db.execute(sql: sql) }
        try queue.close()
    }
}
