import Foundation
import GRDB
import RepriseCore
import RepriseWire

/// Columns as the tables declare them. GRDB's own subscript traps on a value of another type, and a
/// disk may return anything.
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

    func optionalInteger(_ index: Int) throws -> Int64? {
        hasNull(atIndex: index) ? nil : try integer(index)
    }

    func optionalText(_ index: Int) throws -> String? {
        hasNull(atIndex: index) ? nil : try text(index)
    }

    /// A message's change to another, from its two columns.
    func change(_ index: Int, target: Int) throws -> MessageChange<Int64>? {
        switch try optionalInteger(index) {
        case nil: return nil
        case 1: return .edits(try integer(target))
        case 2: return .deletes(try integer(target))
        default: throw damaged(index)
        }
    }

    private func damaged(_ index: Int) -> RepriseError {
        RepriseError(.corrupt, "Column \(index) of a channel's row is not what it must be.")
    }
}
