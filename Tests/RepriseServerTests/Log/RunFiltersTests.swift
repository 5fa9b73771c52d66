import RepriseServer
import RepriseTesting
import Testing

@Suite("The filters of sealed ids")
struct RunFiltersTests {
    private static let perRun = 65_536

    @Test("let every id of a run through, and of 10,000 others fewer than four")
    func share() {
        var random = SeededGenerator(seed: 7)
        var filters = RunFilters()
        var stored: [[UInt64]] = []
        for run in 1...9 {
            stored.append(fill(Int64(run), in: &filters, using: &random))
        }
        for (run, hashes) in zip(Int64(1)..., stored) {
            let some = stride(from: 0, to: hashes.count, by: 16).map { hashes[$0] }
            #expect(some.allSatisfy { runs(of: $0, in: filters).contains(run) }, "run \(run)")
        }
        let others = (0..<10_000).map { _ in random.next() }
        // About 14; without the second filters 390.
        #expect(others.reduce(0) { $0 + runs(of: $1, in: filters).count } < 36)
    }

    @Test("of a forgotten run let no id through, and its place is used by another run")
    func forgotten() {
        var random = SeededGenerator(seed: 7)
        var filters = RunFilters()
        let stored = (1...9).map { fill($0, count: 100, in: &filters, using: &random) }
        for run in [3, 9] as [Int64] { filters.remove(run) }
        let later = fill(10, count: 100, in: &filters, using: &random)
        for (run, hashes) in zip(Int64(1)..., stored + [later]) {
            let isThere = run != 3 && run != 9
            #expect(hashes.allSatisfy { runs(of: $0, in: filters).contains(run) == isThere })
        }
    }

    @Test("of 520 runs are all found, and those of the second block after the first is forgotten")
    func blocks() {
        var random = SeededGenerator(seed: 7)
        var filters = RunFilters()
        let stored = (1...520).map { fill($0, count: 4, in: &filters, using: &random) }
        for (run, hashes) in zip(Int64(1)..., stored) {
            #expect(hashes.allSatisfy { runs(of: $0, in: filters).contains(run) }, "run \(run)")
        }
        for run in 1...256 as ClosedRange<Int64> { filters.remove(run) }
        for (run, hashes) in zip(Int64(1)..., stored) {
            let isThere = run > 256
            #expect(hashes.allSatisfy { runs(of: $0, in: filters).contains(run) == isThere })
        }
    }

    private func fill(
        _ run: Int64, count: Int = Self.perRun, in filters: inout RunFilters,
        using random: inout SeededGenerator
    ) -> [UInt64] {
        var first = IDFilter(wordCount: IDFilter.wordCount)
        var second = IDFilter(wordCount: IDFilter.secondWordCount)
        let hashes = (0..<count).map { _ in random.next() }
        for hash in hashes {
            first.insert(hash)
            second.insert(IDFilter.secondHash(hash))
        }
        filters.insert(run, first, second)
        return hashes
    }

    /// The runs in which an id would be looked up, if none had it.
    private func runs(of hash: UInt64, in filters: RunFilters) -> [Int64] {
        var runs: [Int64] = []
        _ = filters.firstResult(for: hash) { run -> Int64? in
            runs.append(run)
            return nil
        }
        return runs
    }
}
