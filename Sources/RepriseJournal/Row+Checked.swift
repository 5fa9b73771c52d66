import Foundation
package import GRDB
package import RepriseCore

/// Columns as the tables declare them. GRDB's own subscript traps on a value of another type, and a
/// disk may return anything.
extension Row {
    /// A value by its column's place; an optional one may be NULL.
    package func checked<Value: DatabaseValueConvertible>(_ index: Int) throws -> Value {
        guard let value = Value.fromDatabaseValue(self[index]) else { throw damaged("\(index)") }
        return value
    }

    /// The same by its column's name.
    package func checked<Value: DatabaseValueConvertible>(_ name: String) throws -> Value {
        guard let value = Value.fromDatabaseValue(self[name]) else { throw damaged(name) }
        return value
    }

    package func integer(_ index: Int) throws -> Int64 { try checked(index) }

    package func text(_ index: Int) throws -> String { try checked(index) }

    package func bytes(_ index: Int) throws -> [UInt8] { Array(try checked(index) as Data) }

    package func optionalInteger(_ index: Int) throws -> Int64? { try checked(index) }

    package func optionalText(_ index: Int) throws -> String? { try checked(index) }

    /// The error of a column.
    package func damaged(_ column: String) -> RepriseError {
        RepriseError(
            .corrupt, "The column \(column) of a row cannot be read.",
            remedy: "To begin anew, end the journal's owner and move the file away, with its -wal "
                + "and -shm.")
    }
}
