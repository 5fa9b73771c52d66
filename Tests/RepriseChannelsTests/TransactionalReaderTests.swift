import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Readers in the journal's transaction", .timeLimit(.minutes(1)))
struct TransactionalReaderTests {
    private struct Failed: Error {}

    static func insert(_ db: Database, _ messages: [Message]) throws {
        for message in messages {
            try db.execute(sql: "INSERT INTO sink VALUES (?)", arguments: [message.seq])
        }
    }

    @Test("Guarantee 4: an effect that shares the transaction is exactly once over many kills")
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

    @Test("an effect that throws is rolled back, and holds up no other reader")
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
            try await bench.general.failures(of: "sink").first?.status == .dead
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

    @Test(
        "Messages that come one by one are applied once; a failed one is tried again when it is due, and holds up the others only in an ordered reader",
        arguments: [ReaderOptions.Order.arrival, .ordered])
    func oneByOne(_ order: ReaderOptions.Order) async throws {
        let bench = try await Bench { channels, _ in channels.jitter = { 1 } }
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: 0)
        let failures = Mutex(1)
        try await bench.general.read(
            "sink",
            options: .init(order: order, attemptLimit: 3, backoff: Backoff(base: .seconds(5)))
        ) { db, messages in
            try Self.insert(db, messages)
            guard messages.contains(where: { $0.seq == 3 }) else { return }
            let fails = failures.withLock { left in
                defer { left -= 1 }
                return left > 0
            }
            if fails { throw Failed() }
        }
        for seq in 1...2 {
            try server.events([Int64(seq)])
            try await eventually("\(seq) is applied") { try await bench.sunk().last == seq }
        }
        try server.events([3])
        // Its wait counts from this commit on.
        try await eventually("it has failed") {
            try await bench.general.failures(of: "sink").map(\.message.seq) == [3]
        }
        try server.events([4])
        if order == .arrival {
            try await eventually("4 does not wait") { try await bench.sunk() == [1, 2, 4] }
        } else {
            try await eventually("4 has come") { try await bench.journal.ledger().pending == 2 }
        }
        bench.time.advance(by: .seconds(6))  // the connection would not outlive much more
        try await eventually("it is applied when it is due") {
            try await bench.sunk() == (order == .arrival ? [1, 2, 4, 3] : [1, 2, 3, 4])
        }
        try server.events([5])
        try await eventually("5 is applied") { try await bench.sunk().last == 5 }
        try await eventually("each is counted once") {
            try await bench.journal.ledger().outcomes[.applied] == 5
        }
        try await bench.finish()
    }
}
