import GRDB
import RepriseCore

/// Detects a corrupted character in the schema's own text, which passes SQLite's check.
///
/// SQLite counts every schema change made by a statement. The text is sealed together with that
/// count, in `PRAGMA user_version`: the same count with another text is corruption; another count
/// is a legitimate change, which the next opening seals anew. Each takes half of the 32 bits: one
/// corruption in 65,536 is missed.
enum SchemaSeal {
    /// Seals the current schema; in a transaction.
    static func write(_ db: Database) throws {
        let seal = try seal(db)
        guard
            try Int32.fetchOne(db.cachedStatement(sql: "PRAGMA user_version")) != seal
        else { return }
        try db.execute(sql: "PRAGMA user_version = \(seal)")
    }

    /// - Throws: a `DatabaseError` of damage if the text differs from the sealed one; nothing
    ///   without a seal.
    static func check(_ db: Database) throws {
        let found = try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0
        let seal = try seal(db)
        guard found != 0, found != seal, found >> 16 == seal >> 16 else { return }
        throw DatabaseError(
            resultCode: .SQLITE_CORRUPT,
            message: "the text of the schema has changed, and no statement has changed it")
    }

    private static func seal(_ db: Database) throws -> Int32 {
        let count =
            try Int32.fetchOne(db.cachedStatement(sql: "PRAGMA schema_version")) ?? 0
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid"))
        var hash: UInt32 = 2_166_136_261
        while let row = try rows.next() {
            for column in 0..<4 {
                let text = String.fromDatabaseValue(row[column]) ?? ""
                // FNV-1a, with a terminator that no text contains.
                for byte in text.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
                hash = (hash ^ 0xff) &* 16_777_619
            }
        }
        let half = UInt16(truncatingIfNeeded: hash ^ hash >> 16)
        return count << 16 | Int32(max(half, 1))
    }
}
