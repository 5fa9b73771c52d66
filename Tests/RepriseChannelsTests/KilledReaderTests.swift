import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Killed readers", .timeLimit(.minutes(1)))
struct KilledReaderTests {
    @Test("Guarantee 1: a kill between commit and dispatch loses nothing, and repeats nothing")
    func beforeDispatch() async throws {
        let bench = try await ReaderTests.stocked(40)
        let after = try await Bench(killing: bench)
        let observer = Observer()
        try await after.general.read("inbox") { observer.see($0) }
        after.start()
        try await eventually("all are dispatched") { observer.messages.count == 40 }
        #expect(observer.messages.allSatisfy { $0.attempt == 1 })
        try await after.finish()
    }

    /// Stops in the handler of one message for ever, as a process does that is killed there.
    private static func killed(
        in seq: Int64, options: ReaderOptions = ReaderOptions()
    ) async throws -> (Bench, Observer) {
        let bench = try await ReaderTests.stocked(200)
        let observer = Observer()
        try await bench.general.read("inbox", options: options) { message in
            observer.see(message)
            guard message.seq == seq else { return }
            try await Task.sleep(for: .seconds(3_600))
        }
        try await eventually("it is in the handler") { observer.sequences.last == seq }
        return (bench, observer)
    }

    @Test(
        "Guarantee 4, again: messages in flight are dispatched again with attempt 2, and no more than the window",
        .limit("channels.window", "tool.listen")
    )
    func again() async throws {
        let (bench, before) = try await Self.killed(in: 100)
        let after = try await Bench(killing: bench)
        let observer = Observer()
        try await after.general.read("inbox") { observer.see($0) }
        after.start()
        try await eventually("all were dispatched") {
            Set(before.sequences + observer.sequences).count == 200
                && observer.sequences.contains(100) && observer.sequences.contains(200)
        }
        // It may go on meanwhile.
        let seen = observer.messages
        let doubted = seen.filter { $0.attempt == 2 }
        #expect(doubted.contains { $0.seq == 100 })
        #expect(doubted.count <= 128)
        let repeated = Set(before.sequences).intersection(seen.map(\.seq))
        #expect(repeated.allSatisfy { seq in doubted.contains { $0.seq == seq } })
        try await eventually("all are applied") {
            try await after.journal.ledger().outcomes[.applied] == 200
        }
        try await after.finish()
    }

    @Test(
        "Guarantee 4, never: messages in flight are unconfirmed, counted, and not dispatched again")
    func never() async throws {
        let options = ReaderOptions(onInterruption: .never)
        let (bench, before) = try await Self.killed(in: 100, options: options)
        let after = try await Bench(killing: bench)
        let observer = Observer()
        try await after.general.read("inbox", options: options) { observer.see($0) }
        after.start()
        try await eventually("the rest was dispatched") { observer.sequences.last == 200 }
        #expect(before.sequences == Array(1...100))
        #expect(observer.sequences == Array(101...200))
        try await eventually("all have ended") { try await after.journal.ledger().pending == 0 }
        let sum = try await after.journal.ledger()
        #expect(sum.outcomes[.unconfirmed] == 1 && sum.outcomes[.applied] == 199)
        #expect(sum.isBalanced)
        #expect(try await after.general.failures(of: "inbox").map(\.message.seq) == [100])
        try await after.finish()
    }

    @Test(
        "Guarantee 4: isApplied is asked about messages in flight, and its answer makes the effect exactly once"
    )
    func isApplied() async throws {
        let (bench, before) = try await Self.killed(in: 100)
        let applied = Set(before.messages.map(\.id))
        let after = try await Bench(killing: bench)
        let observer = Observer()
        try await after.general.read("inbox", isApplied: { applied.contains($0) }) {
            observer.see($0)
        }
        after.start()
        try await eventually("all are applied") {
            try await after.journal.ledger().outcomes[.applied] == 200
        }
        #expect(Set(before.sequences).isDisjoint(with: observer.sequences))
        #expect(before.messages.count + observer.messages.count == 200)
        try await after.finish()
    }

    @Test(
        "a message that kills its process again and again becomes a dead letter, and no other does"
    )
    func poison() async throws {
        var (bench, _) = try await Self.killed(in: 100, options: .init(attemptLimit: 3))
        for _ in 0..<4 {
            let after = try await Bench(killing: bench)
            let observer = Observer()
            try await after.general.read("inbox", options: .init(attemptLimit: 3)) { message in
                observer.see(message)
                if message.seq == 100 { try await Task.sleep(for: .seconds(3_600)) }
            }
            after.start()
            try await eventually("it hangs again, or is dead") {
                let failures = try await after.general.failures(of: "inbox")
                return observer.sequences.last == 100
                    || failures.contains { $0.message.seq == 100 && $0.status == .dead }
            }
            bench = after
        }
        try await eventually("all others are applied") {
            let sum = try await bench.journal.ledger()
            return sum.outcomes[.applied] == 199 && sum.outcomes[.dead] == 1 && sum.isBalanced
        }
        try await bench.finish()
    }

    @Test("an orderly stop leaves no message unconfirmed")
    func stop() async throws {
        let bench = try await ReaderTests.stocked(100)
        let before = Observer()
        try await bench.general.read("inbox") { message in
            before.see(message)
            if message.seq == 50 { bench.stop() }
        }
        try await bench.finish()
        let after = try await Bench(in: bench.folder)
        let observer = Observer()
        try await after.general.read("inbox") { observer.see($0) }
        after.start()
        try await eventually("the rest was dispatched") { observer.sequences.last == 100 }
        #expect(before.sequences + observer.sequences == Array(1...100))
        #expect(observer.messages.allSatisfy { $0.attempt == 1 })
        try await after.finish()
    }
}
