import HeapModule
import RepriseCore

/// Ids that collect into a run, and then leave sorted by their bytes.
struct GatheredIDs: Sendable {
    typealias Known = AppendRules.Known

    /// The tables of ids in order of arrival: one fills while the other is sealed, so that it can
    /// be emptied as a whole.
    enum Table: String {
        case first = "recent_ids"
        case second = "recent_ids2"

        var other: Table { self == .first ? .second : .first }
    }

    /// Sorted as `ids` is, by the bytes; the first eight nearly always decide.
    private struct Key: Comparable {
        private let prefix: UInt64
        let id: EntryID

        init(_ id: EntryID) {
            var prefix: UInt64 = 0
            for byte in id.text.utf8.prefix(8) { prefix = prefix << 8 | UInt64(byte) }
            self.prefix = prefix << (8 * UInt64(8 - min(id.text.utf8.count, 8)))
            self.id = id
        }

        static func < (one: Key, two: Key) -> Bool {
            one.prefix == two.prefix ? one.id.text < two.id.text : one.prefix < two.prefix
        }
    }

    let table: Table
    /// Over all ids ever inserted here.
    private(set) var filter = IDFilter()
    private var known: [EntryID: Known] = [:]
    /// A heap, so that neither insertion nor removal costs a sort.
    private var order = Heap<Key>()

    init(in table: Table, expecting count: Int) {
        self.table = table
        known.reserveCapacity(count)
    }

    /// The number of remaining ids.
    var count: Int { known.count }

    subscript(id: EntryID) -> Known? { known[id] }

    mutating func insert(_ id: EntryID, _ value: Known) {
        known[id] = value
        order.insert(Key(id))
        filter.insert(IDFilter.hash(id))
    }

    /// An id that was inserted and removed when the log was last open.
    mutating func insertGone(_ id: EntryID) { filter.insert(IDFilter.hash(id)) }

    /// Removes the first in order; nil once empty.
    mutating func removeFirst() -> (id: EntryID, known: Known)? {
        guard let id = order.popMin()?.id, let value = known.removeValue(forKey: id) else {
            return nil
        }
        return (id, value)
    }

    static func isOrdered(_ one: EntryID, before two: EntryID) -> Bool { Key(one) < Key(two) }
}
