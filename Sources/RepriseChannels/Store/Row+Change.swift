import GRDB
import RepriseJournal
import RepriseWire

extension Row {
    /// A message's change to another, from its two columns.
    func change(_ index: Int, target: Int) throws -> MessageChange<Int64>? {
        switch try optionalInteger(index) {
        case nil: return nil
        case 1: return .edits(try integer(target))
        case 2: return .deletes(try integer(target))
        default: throw damaged("\(index)")
        }
    }

    /// The end of what a coverage holds without a hole; 0 if it cannot be read.
    func watermark(_ index: Int) -> Int64 {
        (try? Coverage(parsing: text(index)))?.watermark ?? 0
    }
}
