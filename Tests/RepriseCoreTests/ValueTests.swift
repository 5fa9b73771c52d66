import RepriseCore
import Testing

@Suite("Values")
struct ValueTests {
    @Test(
        "The wait doubles with each failure up to its ceiling, whatever their number",
        arguments: [(1, 2), (2, 4), (3, 8), (5, 32), (6, 60), (1_000_000, 60), (0, 2), (-3, 2)])
    func backoff(failures: Int, seconds: Int) {
        let backoff = Backoff(base: .seconds(2), longest: .seconds(60))
        #expect(backoff.ceiling(failures: failures) == .seconds(seconds))
        #expect(backoff.delay(failures: failures, jitter: 0) == .zero)
        #expect(backoff.delay(failures: failures, jitter: 0.5) == .seconds(seconds) / 2)
        #expect(backoff.delay(failures: failures, jitter: 7) == .seconds(seconds))
    }

    @Test("The ledger is balanced exactly when the outcomes sum up to the accepted entries")
    func ledger() {
        var sum = LedgerSum()
        #expect(sum.isBalanced)
        sum.accepted = 6
        sum.pending = 1
        sum.outcomes = [.applied: 3, .dead: 2]
        sum.duplicates = 40
        sum.lost = [LedgerSum.Loss(channel: "c", reason: "retention", count: nil)]
        #expect(sum.isBalanced)
        var other = LedgerSum()
        other.accepted = 1
        other.outcomes = [.applied: 1]
        sum.add(other)
        #expect(sum.outcomes[.applied] == 4)
        #expect(sum.isBalanced)
        sum.accepted += 1
        #expect(!sum.isBalanced)
    }

    @Test("Moments saturate at the ends of time and never trap")
    func wallTime() {
        let end = WallTime(milliseconds: .max)
        let start = WallTime(milliseconds: .min)
        #expect(end.advanced(by: .seconds(1)) == end)
        #expect(start.advanced(by: .seconds(-1)) == start)
        #expect(start.duration(to: end) > .zero)
        #expect(end.duration(to: start) < .zero)
        #expect(end.advanced(by: .seconds(Int64.max)) == end)
        let now = WallTime(milliseconds: 5)
        #expect(now.advanced(by: .milliseconds(7)).milliseconds == 12)
        #expect(now.duration(to: WallTime(milliseconds: 2)) == .milliseconds(-3))
    }

    @Test(
        "A length is cut to whole milliseconds towards nought, and saturates",
        arguments: [
            (.nanoseconds(1_999_999), 1), (.nanoseconds(-1_999_999), -1),
            (.nanoseconds(999_999), 0), (.seconds(-3) + .nanoseconds(1), -2_999),
            (.seconds(Int64.max / 1_000), Int64.max / 1_000 * 1_000),
            (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
        ] as [(Duration, Int64)])
    func milliseconds(length: Duration, expected: Int64) {
        #expect(length.milliseconds == expected)
    }

    @Test("A kind has at least one attempt and one in flight")
    func kind() {
        let kind = EntryKind("kind", attemptLimit: 0, parallel: -4)
        #expect(kind.attemptLimit == 1)
        #expect(kind.parallel == 1)
    }

    @Test("Two errors are equal if all of them is; a program matches on the code")
    func errors() {
        #expect(RepriseError(.full, "a", remedy: "c") == RepriseError(.full, "a", remedy: "c"))
        #expect(RepriseError(.full, "a") != RepriseError(.full, "b"))
        #expect(RepriseError(.full, "a") != RepriseError(.busy, "a"))
        #expect(Set([RepriseError(.full, "a"), RepriseError(.full, "b")]).count == 2)
    }
}
