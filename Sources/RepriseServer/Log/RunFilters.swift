/// The filters of the sealed runs, which every new id is tested against.
///
/// An id's word has the same place in the first filter of each run. So the words of eight runs lie
/// together in a cache line, a group, and are tested at once; and the lines of up to
/// ``Block/mostGroups`` groups lie one behind the other, in one page of memory.
package struct RunFilters: Sendable {
    private struct Run: Sendable {
        let number: Int64
        /// Nil for a run that a former version sealed.
        let second: IDFilter?
    }

    private struct Block: Sendable {
        typealias Group = SIMD8<UInt64>

        /// 256 runs: a wider row would not fit into a page, and widening it would take longer.
        static let mostGroups = 32

        /// By column; nil for a free one.
        private(set) var runs: [Run?] = []
        /// A row of ``width`` groups for each word of a filter; 0 where there is no run.
        private var rows: [Group] = []
        private var width = 0

        var groups: Range<Int> { 0..<runs.count / Group.scalarCount }
        var isFull: Bool { runs.count == Self.mostGroups * Group.scalarCount }

        subscript(row: Int, group: Int) -> Group { rows[row * width + group] }

        mutating func addGroup() {
            if groups.count == width { widen(to: min(width + max(1, width / 4), Self.mostGroups)) }
            runs += [Run?](repeating: nil, count: Group.scalarCount)
        }

        private mutating func widen(to wider: Int) {
            var wide = [Group](repeating: .zero, count: IDFilter.wordCount * wider)
            for row in 0..<IDFilter.wordCount {
                for group in 0..<width { wide[row * wider + group] = self[row, group] }
            }
            (rows, width) = (wide, wider)
        }

        mutating func set(_ run: Run?, _ words: [UInt64], at column: Int) {
            runs[column] = run
            let (size, scalars) = (MemoryLayout<UInt64>.size, width * Group.scalarCount)
            // Setting scalar by scalar is slow without optimization.
            rows.withUnsafeMutableBytes { bytes in
                for (row, word) in words.enumerated() {
                    bytes.storeBytes(
                        of: word, toByteOffset: (row * scalars + column) * size, as: UInt64.self)
                }
            }
        }
    }

    private var blocks: [Block] = []

    package init() {}

    var isEmpty: Bool { blocks.isEmpty }

    /// The greatest number of a run; 0 without any.
    var newest: Int64 { blocks.lazy.flatMap(\.runs).compactMap { $0?.number }.max() ?? 0 }

    func contains(_ run: Int64) -> Bool { place(of: run) != nil }

    package mutating func insert(_ run: Int64, _ first: IDFilter, _ second: IDFilter?) {
        let place = place(of: nil) ?? freePlace()
        blocks[place.block].set(
            Run(number: run, second: second), first.words, at: place.column)
    }

    private mutating func freePlace() -> (block: Int, column: Int) {
        if blocks.last?.isFull ?? true { blocks.append(Block()) }
        let last = blocks.count - 1
        let column = blocks[last].runs.count
        blocks[last].addGroup()
        return (last, column)
    }

    package mutating func remove(_ run: Int64) {
        guard let (block, column) = place(of: run) else { return }
        blocks[block].set(nil, IDFilter(wordCount: IDFilter.wordCount).words, at: column)
        if blocks[block].runs.allSatisfy({ $0 == nil }) { blocks.remove(at: block) }
    }

    /// The place of a run, or of nil, a free one.
    private func place(of run: Int64?) -> (block: Int, column: Int)? {
        for block in blocks.indices {
            if let column = blocks[block].runs.firstIndex(where: { $0?.number == run }) {
                return (block, column)
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
        for block in blocks.indices {
            for group in blocks[block].groups {
                let hits = blocks[block][row, group] & mask .== mask
                guard any(hits) else { continue }
                for column in hits.indices where hits[column] {
                    guard let run = blocks[block].runs[group * hits.scalarCount + column],
                        run.second?.mayContain(IDFilter.secondHash(hash)) ?? true
                    else { continue }
                    if let value = try lookUp(run.number) { return value }
                }
            }
        }
        return nil
    }
}
