import RepriseCore
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Coverage")
struct CoverageTests {
    @Test("agrees with a plain set of numbers over many thousand random operations")
    func agreesWithASet() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for round in 0..<400 {
            var coverage = Coverage()
            var model = Set<Int64>()
            let space = Int64.random(in: 5...200, using: &random)
            for _ in 0..<100 {
                let after = Int64.random(in: 0..<space, using: &random)
                let through = after + Int64.random(in: 1...12, using: &random)
                let numbers = Set(after + 1...through)
                let isNew = !numbers.isSubset(of: model)
                let outcome = coverage.insert(after: after, through: through)
                model.formUnion(numbers)
                try #require(
                    outcome == (isNew ? .added : .duplicate), "seed \(seed) round \(round)")
            }
            try compare(coverage, model, space: space + 14, "seed \(seed) round \(round)")
        }
    }

    private func compare(
        _ coverage: Coverage, _ model: Set<Int64>, space: Int64, _ comment: Comment
    ) throws {
        for number in 0...space {
            try #require(coverage.contains(number) == model.contains(number), comment)
        }
        try #require(coverage.count == Int64(model.count), comment)
        let missing = coverage.complement(through: space).flatMap {
            Array($0.after + 1...$0.through)
        }
        try #require(missing == (1...space).filter { !model.contains($0) }, comment)
        try #require(coverage.isComplete(through: space) == missing.isEmpty, comment)
        let sorted = zip(coverage.ranges, coverage.ranges.dropFirst())
        try #require(sorted.allSatisfy { $0.through < $1.after }, comment)
        try #require(try Coverage(parsing: coverage.description) == coverage, comment)
    }

    @Test("200 before 180 leaves 180 missing (case-catch-up: highest sequence loses it)")
    func outOfOrder() {
        var coverage = Coverage(through: 154)
        for sequence: Int64 in [156, 200, 180, 155, 190] {
            coverage.insert(after: sequence - 1, through: sequence)
        }
        #expect(coverage.watermark == 156)
        #expect(!coverage.contains(181))
        #expect(coverage.complement(through: 200).map(\.count) == [23, 9, 9])
    }

    @Test("an event with prev accounts for the sequences in between")
    func previous() {
        var coverage = Coverage(through: 4)
        #expect(coverage.insert(after: 2, through: 9) == .added)
        #expect(coverage.ranges.map(\.description) == ["(0, 9]"])
    }

    @Test(
        "Guarantee 6: at the bound a new range is refused, and nothing covered is forgotten",
        .limit("wire.coverage"))
    func bound() throws {
        var coverage = Coverage()
        for index in 0..<Int64(WireLimits.coverageRanges) {
            #expect(coverage.insert(after: index * 10, through: index * 10 + 1) == .added)
        }
        let before = coverage
        #expect(coverage.insert(after: 1_000_000, through: 1_000_001) == .full)
        #expect(coverage == before)
        // What joins an existing range still goes in, and makes room.
        #expect(coverage.insert(after: 1, through: 10) == .added)
        #expect(coverage.insert(after: 1_000_000, through: 1_000_001) == .added)
    }

    @Test(
        "an empty or impossible range covers nothing",
        arguments: [(0, 0), (5, 5), (6, 5), (-1, 4), (0, .max), (.min, .max)] as [(Int64, Int64)])
    func impossible(bounds: (Int64, Int64)) {
        var coverage = Coverage()
        #expect(coverage.insert(after: bounds.0, through: bounds.1) == .duplicate)
        #expect(coverage.isEmpty)
        var one = Coverage(through: 3)
        #expect(one.insert(after: bounds.0, through: bounds.1) == .duplicate)
        #expect(one == Coverage(through: 3))
    }

    @Test(
        "a coverage that a peer wrote wrongly is refused",
        arguments: [
            "", "[", "[]x", "{}", "[[1]]", "[[1,2,3]]", "[[2,1]]", "[[1,1]]", "[[-1,4]]",
            "[[0,4],[4,9]]", "[[5,9],[0,2]]", "[[0,1.5]]", "[[0,\"4\"]]", "[[0,9007199254740992]]",
            "[[0,99999999999999999999]]", "[0,4]", "null",
        ])
    func refused(text: String) {
        expectError(.malformed) { try Coverage(parsing: text) }
    }

    @Test("a coverage with more ranges than the bound is refused")
    func tooMany() {
        let ranges = (0...WireLimits.coverageRanges).map { "[\($0 * 3),\($0 * 3 + 1)]" }
        let text = "[\(ranges.joined(separator: ","))]"
        expectError(.malformed) { try Coverage(parsing: text) }
    }

    @Test("merging covers what either covers")
    func merge() {
        var left = Coverage(through: 10)
        var right = Coverage()
        right.insert(after: 8, through: 14)
        right.insert(after: 20, through: 22)
        let all = left.merge(right)
        #expect(all)
        #expect(left.description == "[[0,14],[20,22]]")
    }
}
