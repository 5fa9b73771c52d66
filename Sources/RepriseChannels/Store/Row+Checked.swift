import Foundation
import GRDB
import RepriseCore
import RepriseWire

/// Columns as the tables declare them. GRDB's own subscript traps on a value of another type, and a disk may return
/// anything.
extension Row {
    func integer(_ index: Int) throws -> Int64 {
        guard let value = Int64.fromDatabaseValue(self[index]) else { throw damaged(index) }
        return value
    }

    func text(_ index: Int) throws -> String {
        guard let value = String.fromDatabaseValue(self[index]) else { throw damaged(index) }
        return value
    }

    func bytes(_ index: Int) throws -> [UInt8] {
        guard let value = Data.fromDatabaseValue(self[index]) else { throw damaged(index) }
        return Array(value)
    }

    private func damaged(_ index: Int) -> RepriseError {
        RepriseError(.corrupt, "Column \(index) of a channel's row is not what it must be.")
    }
}
