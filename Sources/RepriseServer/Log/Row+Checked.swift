import GRDB

/// Columns as the tables declare them. GRDB's own subscript traps on a value of another type, and a
/// damaged file may have any.
///
/// The error is one of SQLite's: a transaction that meets it is rolled back (``AccountsWriter``).
extension Row {
    /// A value by its column's place; an optional one may be NULL.
    ///
    /// - Throws: a `DatabaseError` `SQLITE_CORRUPT`, which ``ServerDatabase`` types.
    func checked<Value: DatabaseValueConvertible>(_ index: Int) throws -> Value {
        guard let value = Value.fromDatabaseValue(self[index]) else {
            throw Self.damaged("\(index)")
        }
        return value
    }

    /// The same by its column's name.
    func checked<Value: DatabaseValueConvertible>(_ name: String) throws -> Value {
        guard let value = Value.fromDatabaseValue(self[name]) else { throw Self.damaged(name) }
        return value
    }

    private static func damaged(_ column: String) -> DatabaseError {
        DatabaseError(
            resultCode: .SQLITE_CORRUPT,
            message: "The column \(column) of a stored row cannot be read.")
    }
}
