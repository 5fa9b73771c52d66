import GRDB
import RepriseCore

/// Columns as the tables declare them. GRDB's own subscript traps on a value of another type, and a
/// damaged file may have any.
extension Row {
    /// A value by its column's place; an optional one may be NULL.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt`.
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

    private static func damaged(_ column: String) -> RepriseError {
        RepriseError(.corrupt, "The column \(column) of a stored row cannot be read.")
    }
}
