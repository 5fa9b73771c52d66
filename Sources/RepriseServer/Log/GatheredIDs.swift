import RepriseCore

/// Ids that collect into a run, and then leave sorted by their bytes.
struct GatheredIDs: Sendable {
    typealias Known = AppendRules.Known
    typealias Gathered = (id: EntryID, known: Known)

    /// The tables of ids in order of arrival: one fills while the other is sealed, so that it can
    /// be emptied as a whole.
    enum Table: String {
        case first = "recent_ids"
        case second = "recent_ids2"

        var other: Table { self == .first ? .second : .first }

        var insertion: RowInsertion { self == .first ? Self.toFirst : Self.toSecond }

        private static let toFirst = Self.insertion(.first)
        private static let toSecond = Self.insertion(.second)
        private static func insertion(_ table: Self) -> RowInsertion {
            RowInsertion(into: table.rawValue, "n, id, channel, seq, owner")
        }
    }

    /// An id's place, and the first eight bytes of the id, which nearly always decide.
    private struct Key {
        let prefix: UInt64
        let place: Int

        init(_ id: EntryID, at place: Int) {
            var text = id.text
            prefix = text.withUTF8 { bytes in
                (0..<8).reduce(0) { $0 << 8 | ($1 < bytes.count ? UInt64(bytes[$1]) : 0) }
            }
            self.place = place
        }
    }

    /// The keys sorted at once: a commit of a few messages sorts no more, and few parts are merged.
    private static let partLength = 4_096

    let table: Table
    /// Over all ids ever inserted here.
    private(set) var filter = IDFilter(wordCount: IDFilter.wordCount)
    /// The same; see ``IDFilter/secondWordCount``.
    private(set) var secondFilter = IDFilter(wordCount: IDFilter.secondWordCount)
    /// The number of ids that have not left.
    private(set) var count = 0
    /// All ids, in order of arrival: also those that have left are found until the run is sealed.
    private var ids: [Gathered] = []
    private var places: [EntryID: Int] = [:]
    private var unsorted: [Key] = []
    /// The first key of each sorted part.
    private var firsts: [Key] = []
    /// The others, the last one first.
    private var rests: [[Key]] = []

    init(in table: Table, expecting count: Int) {
        self.table = table
        ids.reserveCapacity(count)
        places.reserveCapacity(count)
    }

    subscript(id: EntryID) -> Known? { places[id].map { ids[$0].known } }

    /// The last ones that were inserted, in order.
    func newest(_ count: Int) -> ArraySlice<Gathered> { ids.suffix(count) }

    /// `hasLeft` is for an id that left before the log was opened.
    mutating func insert(_ id: EntryID, _ known: Known, hasLeft: Bool = false) {
        let hash = IDFilter.hash(id)
        filter.insert(hash)
        secondFilter.insert(IDFilter.secondHash(hash))
        places[id] = ids.count
        if !hasLeft {
            unsorted.append(Key(id, at: ids.count))
            count += 1
        }
        ids.append((id, known))
        if unsorted.count == Self.partLength { sort() }
    }

    private mutating func sort() {
        var part = unsorted.sorted { isOrdered($1, before: $0) }
        unsorted.removeAll(keepingCapacity: true)
        guard let first = part.popLast() else { return }
        firsts.append(first)
        rests.append(part)
    }

    /// The first in order leaves; nil once all have left.
    mutating func removeFirst() -> Gathered? {
        if !unsorted.isEmpty { sort() }
        guard var least = firsts.indices.first else { return nil }
        for part in firsts.indices where isOrdered(firsts[part], before: firsts[least]) {
            least = part
        }
        let place = firsts[least].place
        if let next = rests[least].popLast() {
            firsts[least] = next
        } else {
            firsts.remove(at: least)
            rests.remove(at: least)
        }
        count -= 1
        return ids[place]
    }

    private func isOrdered(_ one: Key, before two: Key) -> Bool {
        one.prefix == two.prefix
            ? ids[one.place].id.text < ids[two.place].id.text : one.prefix < two.prefix
    }
}
