import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Readers in the journal's transaction", .timeLimit(.minutes(1)))
struct InsideReaderTests {
    private struct Failed: Error {}

    static func insert(_ db: Database, _ messages: [Message]) throws {
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
