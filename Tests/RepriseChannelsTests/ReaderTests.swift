import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
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
        "Guarantee 3, acknowledged after the effect: each reader gets everything in order of arrival, once"
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
            if message.seq == 4 { throw DispatchFailure.retry(after: .seconds(900), "Later.") }
        }
        try await bench.general.caughtUp()
        let sum = try await bench.journal.ledger()
        #expect(sum.outcomes[.applied] == 9 && sum.pending == 1 && sum.isBalanced)
        try await bench.general.forget("failing")
        #expect(try await bench.journal.ledger().outcomes[.applied] == 10)
        try await bench.finish()
    }

    @Test(
        "Guarantee 3: a handler that throws gets the message again, up to a limit; then it is a visible dead letter"
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
            try await bench.general.failures(of: "inbox").first?.status == .dead
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
            try await bench.general.failures(of: "inbox").first?.status == .dead
        }
        await expectError(.noSuchEntry) {
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
            if $0.seq == 1 { throw DispatchFailure.permanent("Never.") }
            if $0.seq == 2 { throw DispatchFailure.retry(after: .seconds(900), "Later.") }
        }
        try await bench.general.caughtUp()
        #expect(
            try await bench.general.failures(of: "inbox").map(\.status) == [.dead, .waiting])
        try await bench.general.discard(try EntryID("m2"), reader: "inbox")
        let sum = try await bench.journal.ledger()
        #expect(sum.outcomes[.dead] == 2 && sum.outcomes[.applied] == 1 && sum.isBalanced)
        #expect(observer.sequences == [1, 2, 3])
        try await bench.finish()
    }

    @Test("a run after one that was cancelled goes on to deliver, to both kinds of readers")
    func runsAgain() async throws {
        let bench = try await Self.stocked(3)
        let observer = Observer()
        try await bench.general.read("inbox") { observer.see($0) }
        try await bench.general.read(
            "totals", inTransaction: TransactionalReaderTests.insert)
        try await bench.general.caughtUp()
        bench.stop()
        try await bench.outcome?.get()
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: 5)
        try await becomes("everything is delivered", [1, 2, 3, 4, 5]) { observer.sequences }
        try await bench.general.caughtUp()
        #expect(try await bench.sunk() == [1, 2, 3, 4, 5])
        try await bench.finish()
    }

    /// A clock that calls back once, when the calendar is read.
    private final class WatchedClock: Timekeeper {
        private let clock = ManualClock()
        private let callback = Mutex<(@Sendable () -> Void)?>(nil)

        var boot: String { clock.boot }

        func onNextWall(_ body: @escaping @Sendable () -> Void) { callback.withLock { $0 = body } }

        func wall() -> WallTime {
            let body = callback.withLock { callback in
                defer { callback = nil }
                return callback
            }
            body?()
            return clock.wall()
        }

        func uptime() -> Duration { clock.uptime() }

        func sleep(until moment: Duration) async throws { try await clock.sleep(until: moment) }
    }

    @Test("a run that ends while its reader reads the journal stores what is finished")
    func endedWhileReading() async throws {
        let first = try await Self.stocked(10)
        try await first.finish()
        let clock = WatchedClock()
        let bench = try await Bench(in: first.folder) { channels, _ in channels.timekeeper = clock }
        let observer = Observer()
        try await bench.general.read("inbox") { message in
            observer.see(message)
            // The reader looks at the calendar right before its next read.
            if message.seq == 10 { clock.onNextWall { bench.stop() } }
        }
        bench.start()
        try await bench.outcome?.get()
        try await bench.finish()
        #expect(observer.sequences == Array(1...10))
        let again = try await Bench(in: first.folder)
        try await again.general.read("inbox") { observer.see($0) }
        again.start()
        let server = try await again.accept()
        try server.catchUp(try await server.request(), head: 11)
        try await again.general.caughtUp()
        #expect(observer.sequences == Array(1...11))
        try await again.finish()
    }

    @Test("a message that waits is tried again when it is due, not before")
    func due() async throws {
        let bench = try await Self.stocked(1)
        let observer = Observer()
        try await bench.general.read("inbox") {
            observer.see($0)
            if $0.attempt == 1 { throw DispatchFailure.retry(after: .seconds(20), "Later.") }
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

    @Test("a reader without backoff rests while a message waits for longer")
    func noBackoff() async throws {
        let first = try await Self.stocked(1)
        try await first.finish()
        // Without a connection, nothing else waits for so short a time.
        let bench = try await Bench(in: first.folder)
        let options = ReaderOptions(backoff: Backoff(base: .zero, longest: .zero))
        try await bench.general.read("inbox", options: options) { _ in
            throw DispatchFailure.retry(after: .seconds(60), "Later.")
        }
        bench.start()
        try await eventually("an alarm is set") {
            bench.time.sleepers.contains { $0 - bench.time.uptime() <= .seconds(1) }
        }
        try await bench.finish()
    }

    @Test("a wait keeps its length when the calendar is set back by weeks")
    func calendarSetBack() async throws {
        let bench = try await Self.stocked(1)
        let observer = Observer()
        try await bench.general.read("inbox") {
            observer.see($0)
            if $0.attempt == 1 { throw DispatchFailure.retry(after: .seconds(20), "Later.") }
        }
        try await bench.general.caughtUp()
        try await eventually("an alarm is set") {
            bench.time.sleepers.contains { $0 - bench.time.uptime() <= .seconds(20) }
        }
        bench.time.jumpWall(by: .seconds(-40 * 86_400))
        try await bench.journal.write { _ in }  // the journal looks at the clocks
        bench.time.advance(by: .seconds(320))  // a reader rests for 300 s at most
        try await eventually("it was applied") {
            try await bench.journal.ledger().outcomes[.applied] == 1
        }
        #expect(observer.messages.map(\.attempt) == [1, 2])
        try await bench.finish()
    }

    @Test("a wait counts from its commit on, whatever calendar there was when the handler ended")
    func calendarSetBackBeforeCommit() async throws {
        let bench = try await Self.stocked(1)
        let now = bench.time.wall()
        let former = now.advanced(by: .seconds(40 * 86_400))
        let ending = Ending.after(
            DispatchFailure.retry(after: .seconds(20), "Later."), ReaderOptions(), failures: 0,
            now: former, jitter: 0)
        let rows = ReaderRows(channel: bench.general.name, name: "inbox")
        let counts = try await bench.journal.write { db in
            let position = try rows.begin(ReaderOptions(), now: now, db)
            let arrived = try #require(try rows.page(after: position.cursor, db).first)
            try rows.settle(
                .init(arrival: arrived.arrival, first: ending), of: position.reader, now: now, db)
            return try [19, 20].map { seconds in
                let moment = now.advanced(by: .seconds(seconds))
                return try rows.due(position.reader, now: moment, db).messages.count
            }
        }
        #expect(counts == [0, 1])
        try await bench.finish()
    }

    @Test("a row that cannot be read is a dead letter, and the rest goes on")
    func damaged() async throws {
        let bench = try await Self.stocked(5)
        try await bench.journal.write { db in
            try db.execute(sql: "UPDATE channelsMessage SET id = 'no id' WHERE seq = 3")
        }
        let observer = Observer()
        try await bench.general.read("inbox") { observer.see($0) }
        try await bench.general.read("sink", inTransaction: TransactionalReaderTests.insert)
        try await bench.general.caughtUp()
        #expect(observer.sequences == [1, 2, 4, 5])
        #expect(try await bench.sunk() == [1, 2, 4, 5])
        #expect(try await bench.general.failures(of: "sink").map(\.status) == [.dead])
        let sum = try await bench.journal.ledger()
        #expect(sum.outcomes[.dead] == 1 && sum.outcomes[.applied] == 4 && sum.isBalanced)
        try await bench.finish()
    }

    @Test("the same reader twice is refused")
    func twice() async throws {
        let bench = try await Bench()
        try await bench.general.read("inbox") { _ in }
        await expectError(.duplicateReader) {
            try await bench.general.read("inbox") { _ in }
        }
        await expectError(.malformed) {
            try await bench.general.read("") { _ in }
        }
    }
}
