/// The filters of the sealed runs, which every new id is tested against.
///
/// An id's word has the same place in the first filter of each run. So the words of eight runs lie
/// together in a cache line, and are tested at once: one miss for eight runs instead of eight.
package struct RunFilters: Sendable {
    private struct Run: Sendable {
        let number: Int64
        /// Nil for a run that a former version sealed.
        let second: IDFilter?
    }

    private struct Group: Sendable {
        var runs = [Run?](repeating: nil, count: SIMD8<UInt64>.scalarCount)
        /// A row for each word of a filter, with a column for each run; 0 where there is none.
        var rows = [SIMD8<UInt64>](repeating: .zero, count: IDFilter.wordCount)

        mutating func set(_ run: Run?, _ words: [UInt64], at column: Int) {
            runs[column] = run
            // Setting scalar by scalar is slow without optimization.
            rows.withUnsafeMutableBytes { bytes in
                for (row, word) in words.enumerated() {
                    let scalar = row * SIMD8<UInt64>.scalarCount + column
                    bytes.storeBytes(of: word, toByteOffset: scalar * 8, as: UInt64.self)
                }
            }
        }
    }

    private var groups: [Group] = []

    package init() {}

    var isEmpty: Bool { groups.isEmpty }

    /// The greatest number of a run; 0 without any.
    var newest: Int64 { groups.lazy.flatMap(\.runs).compactMap { $0?.number }.max() ?? 0 }

    func contains(_ run: Int64) -> Bool { place(of: run) != nil }

    package mutating func insert(_ run: Int64, _ first: IDFilter, _ second: IDFilter?) {
        let place = place(of: nil) ?? (groups.count, 0)
        if place.group == groups.count { groups.append(Group()) }
        groups[place.group].set(
            Run(number: run, second: second), first.words, at: place.column)
    }

    package mutating func remove(_ run: Int64) {
        guard let (group, column) = place(of: run) else { return }
        groups[group].set(nil, IDFilter(wordCount: IDFilter.wordCount).words, at: column)
        if groups[group].runs.allSatisfy({ $0 == nil }) { groups.remove(at: group) }
    }

    /// The place of a run, or of nil, a free one.
    private func place(of run: Int64?) -> (group: Int, column: Int)? {
        for group in groups.indices {
            if let column = groups[group].runs.firstIndex(where: { $0?.number == run }) {
                return (group, column)
            }
        }
        return nil
    }

    /// Looks an id up in each run whose filters let its hash through, until one has it.
    package func firstResult<Value>(
        for hash: UInt64, _ lookUp: (_ run: Int64) throws -> Value?
    ) rethrows -> Value? {
        let row = IDFilter.word(hash, of: IDFilter.wordCount)
        let mask = SIMD8(repeating: IDFilter.mask(hash))
        for group in groups.indices {
            let hits = groups[group].rows[row] & mask .== mask
            guard any(hits) else { continue }
            for column in hits.indices where hits[column] {
                guard let run = groups[group].runs[column],
                    run.second?.mayContain(IDFilter.secondHash(hash)) ?? true
                else { continue }
                if let value = try lookUp(run.number) { return value }
            }
        }
        return nil
    }
}
