import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Readers", .timeLimit(.minutes(1)))
struct ReaderTests {
    /// A device that has `count` messages.
    static func stocked(_ count: Int64) async throws -> Bench {
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: count)
        try await bench.general.caughtUp()
        return bench
    }

    private struct Failed: Error {}

    @Test(
        "Promise 3, acknowledged after the effect: each reader gets everything in order of arrival, once"
    )
    func reading() async throws {
        let bench = try await Self.stocked(1_200)
        let (first, second) = (Observer(), Observer())
        try await bench.general.read("first") { first.see($0) }
        try await bench.general.read("second") { second.see($0) }
        try await bench.general.caughtUp()
        #expect(first.sequences == Array(1...1_200))
        #expect(second.sequences == Array(1...1_200))
        #expect(first.messages.allSatisfy { $0.attempt == 1 })
        #expect(first.messages.last?.json == "1200")
        let sum = try await bench.journal.ledger()
        #expect(sum.outcomes[.applied] == 1_200 && sum.isBalanced)
        try await bench.finish()
    }

    @Test("a message is applied when every reader has finished it, pending until then")
    func allReaders() async throws {
        let bench = try await Self.stocked(10)
        try await bench.general.read("quick") { _ in }
        try await bench.general.caughtUp()
        #expect(try await bench.journal.ledger().outcomes[.applied] == 10)
        try await bench.general.read("failing") { message in
            if message.seq == 4 { throw Failed() }
        }
        try await bench.general.caughtUp()
        let sum = try await bench.journal.ledger()
        #expect(sum.outcomes[.applied] == 9 && sum.pending == 1 && sum.isBalanced)
        try await bench.general.forget("failing")
        #expect(try await bench.journal.ledger().outcomes[.applied] == 10)
        try await bench.finish()
    }

    @Test(
        "Promise 3: a handler that throws gets the message again, up to a limit; then it is a visible dead letter"
    )
    func failing() async throws {
        let bench = try await Self.stocked(5)
        let observer = Observer()
        let options = ReaderOptions(attemptLimit: 3)
        try await bench.general.read("inbox", options: options) { message in
            observer.see(message)
            if message.seq == 2 { throw Failed() }
        }
        try await eventually("it has used up its attempts") {
            try await bench.general.failures(of: "inbox").first?.standing == .dead
        }
        #expect(observer.messages.filter { $0.seq == 2 }.map(\.attempt) == [1, 2, 3])
        #expect(Set(observer.sequences) == [1, 2, 3, 4, 5])
        let failure = try #require(try await bench.general.failures(of: "inbox").first)
        #expect(failure.message.id.text == "m2" && failure.reason.contains("Failed"))
        var sum = try await bench.journal.ledger()
        #expect(sum.outcomes[.dead] == 1 && sum.isBalanced)

        try await bench.general.retry(failure.message.id, reader: "inbox")
        try await eventually("it was tried again") { observer.messages.count == 5 + 2 + 3 }
        try await eventually("and is dead again") {
            try await bench.general.failures(of: "inbox").first?.standing == .dead
        }
        await #expect(throws: RepriseError(.noSuchEntry, "")) {
            try await bench.general.retry(EntryID("m1"), reader: "inbox")
        }
        sum = try await bench.journal.ledger()
        #expect(sum.outcomes[.applied] == 4 && sum.isBalanced)
        try await bench.finish()
    }

    @Test("a permanent failure is a dead letter at once, and a discarded one is not tried again")
    func permanent() async throws {
        let bench = try await Self.stocked(3)
        let observer = Observer()
        try await bench.general.read("inbox", options: .init(backoff: Backoff(base: .seconds(60))))
        {
            observer.see($0)
            if $0.seq == 1 { throw HandOverFailure.permanent("Never.") }
            if $0.seq == 2 { throw HandOverFailure.retry(after: .seconds(900), "Later.") }
        }
        try await bench.general.caughtUp()
        #expect(
            try await bench.general.failures(of: "inbox").map(\.standing) == [.dead, .waiting])
        try await bench.general.discard(try EntryID("m2"), reader: "inbox")
        let sum = try await bench.journal.ledger()
        #expect(sum.outcomes[.dead] == 2 && sum.outcomes[.applied] == 1 && sum.isBalanced)
        #expect(observer.sequences == [1, 2, 3])
        try await bench.finish()
    }

    @Test("a message that waits is tried again when it is due, not before")
    func due() async throws {
        let bench = try await Self.stocked(1)
        let observer = Observer()
        try await bench.general.read("inbox") {
            observer.see($0)
            if $0.attempt == 1 { throw HandOverFailure.retry(after: .seconds(20), "Later.") }
        }
        try await bench.general.caughtUp()
        #expect(observer.messages.count == 1)
        try await eventually("an alarm is set") {
            bench.time.sleepers.contains { $0 - bench.time.uptime() <= .seconds(20) }
        }
        bench.time.advance(by: .seconds(20))
        try await eventually("it was applied") {
            try await bench.journal.ledger().outcomes[.applied] == 1
        }
        #expect(observer.messages.map(\.attempt) == [1, 2])
        try await bench.finish()
    }

    @Test("the same reader twice is refused")
    func twice() async throws {
        let bench = try await Bench()
        try await bench.general.read("inbox") { _ in }
        await #expect(throws: RepriseError(.full, "")) {
            try await bench.general.read("inbox") { _ in }
        }
        await #expect(throws: RepriseError(.malformed, "")) {
            try await bench.general.read("") { _ in }
        }
    }
}

@Suite("Readers and the death of the process", .timeLimit(.minutes(1)))
struct KilledReaderTests {
    @Test("Promise 1: a kill between commit and hand-over loses nothing, and repeats nothing")
    func beforeHandOver() async throws {
        let bench = try await ReaderTests.stocked(40)
        let after = try await Bench(killing: bench)
        let observer = Observer()
        try await after.general.read("inbox") { observer.see($0) }
        after.start()
        try await eventually("all are handed over") { observer.messages.count == 40 }
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
        "Promise 4, again: what was in hand comes again with attempt 2, and no more than the window"
    )
    func again() async throws {
        let (bench, before) = try await Self.killed(in: 100)
        let after = try await Bench(killing: bench)
        let observer = Observer()
        try await after.general.read("inbox") { observer.see($0) }
        after.start()
        try await eventually("all were handed over") {
            Set(before.sequences + observer.sequences).count == 200
                && observer.sequences.contains(100) && observer.sequences.contains(200)
        }
        let doubted = observer.messages.filter { $0.attempt == 2 }
        #expect(doubted.contains { $0.seq == 100 })
        #expect(doubted.count <= 128)
        let repeated = Set(before.sequences).intersection(observer.sequences)
        #expect(repeated.allSatisfy { seq in doubted.contains { $0.seq == seq } })
        try await eventually("all are applied") {
            try await after.journal.ledger().outcomes[.applied] == 200
        }
        try await after.finish()
    }

    @Test("Promise 4, never: what was in hand is unconfirmed, counted, and not handed over again")
    func never() async throws {
        let options = ReaderOptions(onInterruption: .never)
        let (bench, before) = try await Self.killed(in: 100, options: options)
        let after = try await Bench(killing: bench)
        let observer = Observer()
        try await after.general.read("inbox", options: options) { observer.see($0) }
        after.start()
        try await eventually("the rest was handed over") { observer.sequences.last == 200 }
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
        "Promise 4: isApplied is asked about what was in hand, and its word makes the effect exactly once"
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
        "a message that kills its process again and again is a dead letter in the end, and drags no other along"
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
                    || failures.contains { $0.message.seq == 100 && $0.standing == .dead }
            }
            bench = after
        }
        try await eventually("all others are applied") {
            let sum = try await bench.journal.ledger()
            return sum.outcomes[.applied] == 199 && sum.outcomes[.dead] == 1 && sum.isBalanced
        }
        try await bench.finish()
    }

    @Test("a stop in good order leaves nothing in doubt")
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
        try await eventually("the rest was handed over") { observer.sequences.last == 100 }
        #expect(before.sequences + observer.sequences == Array(1...100))
        #expect(observer.messages.allSatisfy { $0.attempt == 1 })
        try await after.finish()
    }
}

@Suite("Readers in the journal's transaction", .timeLimit(.minutes(1)))
struct InsideReaderTests {
    private struct Failed: Error {}

    private static func insert(_ db: Database, _ messages: [Message]) throws {
        for message in messages {
            try db.execute(sql: "INSERT INTO sink VALUES (?)", arguments: [message.seq])
        }
    }

    @Test("Promise 4: an effect that shares the transaction is exactly once over many kills")
    func exactlyOnce() async throws {
        var bench = try await ReaderTests.stocked(3_000)
        for _ in 0..<12 {
            let after = try await Bench(killing: bench)
            try await after.general.read("sink", inTransaction: Self.insert)
            after.start()
            // Killed at whatever moment this is.
            for _ in 0..<Int.random(in: 0..<200) { await Task.yield() }
            bench = after
        }
        let last = try await Bench(killing: bench)
        try await last.general.read("sink", inTransaction: Self.insert)
        last.start()
        try await eventually("all are applied") {
            try await last.journal.ledger().outcomes[.applied] == 3_000
        }
        #expect(try await last.sunk() == Array(1...3_000))
        try await last.finish()
    }

    @Test("an effect that throws is rolled back, and holds up nobody else")
    func throwing() async throws {
        let bench = try await ReaderTests.stocked(700)
        let isMended = Mutex(false)
        try await bench.general.read(
            "sink", options: .init(attemptLimit: 2, backoff: Backoff(base: .seconds(1)))
        ) { db, messages in
            try Self.insert(db, messages)
            if messages.contains(where: { $0.seq == 13 }), !isMended.withLock({ $0 }) {
                throw Failed()
            }
        }
        try await eventually("it is dead") {
            try await bench.general.failures(of: "sink").first?.standing == .dead
        }
        try await bench.general.caughtUp()
        #expect(try await Set(bench.sunk()) == Set(1...700).subtracting([13]))
        #expect(try await bench.sunk().count == 699)
        isMended.withLock { $0 = true }
        try await bench.general.retry(try EntryID("m13"), reader: "sink")
        try await eventually("it is applied") {
            try await bench.journal.ledger().outcomes[.applied] == 700
        }
        #expect(try await bench.sunk().last == 13)
        try await bench.finish()
    }
}
