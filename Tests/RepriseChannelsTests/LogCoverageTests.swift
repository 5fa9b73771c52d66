import RepriseChannels
import RepriseWire
import Testing

@Suite("Coverage of a log")
struct LogCoverageTests {
    private static func log(through sequence: Int64, head: Int64 = 0) -> LogCoverage {
        LogCoverage(epoch: nil, coverage: Coverage(through: sequence), head: head)
    }

    @Test("an event is stored once; an event beyond a hole shows the hole")
    func events() {
        var log = Self.log(through: 3)
        #expect(log.received(after: 2, seq: 3) == .ignoreDuplicate && log.revision == 0)
        #expect(log.received(after: 3, seq: 4) == .store && !log.hasHole)
        #expect(log.received(after: 5, seq: 6) == .store && log.hasHole)
        #expect(log.missing == 1 && log.head == 6 && log.revision == 2)
    }

    @Test("at the limit of ranges an event that would open another is left to be requested again")
    func bound() {
        var log = Self.log(through: 1)
        for range in 1..<Int64(WireLimits.coverageRanges) {
            #expect(log.received(after: range * 10 - 1, seq: range * 10) == .store)
        }
        let beyond = Int64(WireLimits.coverageRanges) * 10
        #expect(log.received(after: beyond - 1, seq: beyond) == .leave)
        #expect(log.head == beyond && !log.coverage.contains(beyond))
    }

    @Test("a gone range is reported for its missing part alone, once")
    func gone() throws {
        var log = Self.log(through: 3, head: 9)
        let range = try #require(SequenceRange(after: 1, through: 6))
        #expect(log.gone(range) == [SequenceRange(after: 3, through: 6)].compactMap { $0 })
        #expect(log.gone(range).isEmpty && log.revision == 1)
    }

    @Test("sequences below a floor are given up, without a new revision for that alone")
    func givenUp() {
        var log = Self.log(through: 3, head: 9)
        #expect(log.give(upThrough: 6).map(\.through) == [6])
        #expect(log.missing == 3 && log.revision == 0)
        log.loaded(through: 9)
        #expect(!log.hasHole && log.revision == 1)
    }

    @Test("a new epoch begins empty, and reports what was missing of the former one")
    func epochs() throws {
        var log = Self.log(through: 3, head: 5)
        let (first, second) = (try Epoch("e1"), try Epoch("e2"))
        #expect(log.start(first) == nil, "there was no former one")
        #expect(log.received(after: 1, seq: 2) == .store)
        #expect(log.start(second)?.map(\.through) == [1])
        #expect(log.epoch == second && log.head == 0 && log.coverage.isEmpty)
    }

    @Test("after a failed commit the coverage is that of the disk, and nothing waits to be durable")
    func restored() {
        var log = Self.log(through: 3)
        _ = log.received(after: 3, seq: 4)
        #expect(log.durableRevision < log.revision)
        log.restore(epoch: nil, coverage: Coverage(through: 3), head: 4)
        #expect(log.durableRevision == log.revision && log.missing == 1)
        log.committed(0)
        #expect(log.durableRevision == log.revision, "an older commit takes nothing back")
    }
}
