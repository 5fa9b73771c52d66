import RepriseCore
import RepriseServer
import RepriseTestSupport
import Testing

@Suite("Following the journal")
struct TailMachineTests {
    private static func entry(_ sequence: Int64) -> StoredEntry {
        StoredEntry(sequence: sequence, stamp: WallTime(milliseconds: 0), bytes: [])
    }

    @Test("The next entry is applied, a hole is read, once at a time")
    func holes() {
        var tail = TailMachine(now: .zero)
        let next = Self.entry(4)
        #expect(tail.heard(next, .next, applied: 3, now: .zero) == .apply(next))
        #expect(tail.heard(Self.entry(2), .applied, applied: 4, now: .zero) == nil)
        #expect(tail.heard(Self.entry(7), .ahead, applied: 4, now: .zero) == .read(after: 4))
        #expect(tail.heard(Self.entry(8), .ahead, applied: 4, now: .zero) == nil)
        #expect(tail.timerFired(applied: 4, now: .seconds(1)) == nil, "it is being read")
        // More was stored than one reading returns.
        #expect(tail.read(last: 9, applied: 6, now: .seconds(1)) == .read(after: 6))
        #expect(tail.read(last: 9, applied: 9, now: .seconds(1)) == nil)
        #expect(tail.heard(Self.entry(11), .ahead, applied: 9, now: .zero) == .read(after: 9))
    }

    @Test(
        "After 250 ms of silence the journal is asked, also after a reading that failed",
        .limit("cluster.silence"))
    func silence() {
        var tail = TailMachine(now: .zero)
        #expect(tail.timerFired(applied: 3, now: .milliseconds(249)) == nil)
        #expect(tail.timerFired(applied: 3, now: .milliseconds(250)) == .read(after: 3))
        #expect(tail.read(last: nil, applied: 3, now: .milliseconds(300)) == nil)
        #expect(tail.due == .milliseconds(550))
        _ = tail.heard(Self.entry(2), .applied, applied: 3, now: .milliseconds(500))
        #expect(tail.timerFired(applied: 3, now: .milliseconds(550)) == nil)
        #expect(tail.timerFired(applied: 3, now: .milliseconds(750)) == .read(after: 3))
    }

    @Test("An entry that differs from the applied one is reported at once")
    func changed() {
        var tail = TailMachine(now: .zero)
        let action = tail.heard(Self.entry(2), .changed, applied: 3, now: .zero)
        #expect(action == .wentBack(to: 2))
    }
}
