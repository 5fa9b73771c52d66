import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

/// A disk that is full for a reader alone: SQLite itself says so, because the database may grow no
/// more.
@Suite("Readers on a failing disk", .timeLimit(.minutes(1)))
struct ReaderStateTests {
    /// A device that has 200 messages; whatever moves a reader's cursor needs more room than there
    /// is.
    private func stocked() async throws -> Bench {
        let bench = try await Bench { channels, _ in channels.jitter = { 0.5 } }
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: 200)
        try await bench.general.caughtUp()
        try await bench.journal.write { db in
            try db.execute(
                sql: """
                    CREATE TRIGGER fill AFTER UPDATE OF cursor ON channelsReader BEGIN
                    INSERT INTO sink SELECT a.seq FROM channelsMessage AS a, channelsMessage;
                    END
                    """)
            try db.execute(sql: "PRAGMA max_page_count = 1")  // what it has, and no page more
        }
        return bench
    }

    private func makeRoom(_ bench: Bench) async throws {
        try await bench.journal.write { db in
            try db.execute(sql: "PRAGMA max_page_count = 1000000; DROP TRIGGER fill")
        }
    }

    @Test("the channel is live, and its reader says that it is stuck, and why, until there is room")
    func stuck() async throws {
        let bench = try await stocked()
        var states = bench.general.readerStates.makeAsyncIterator()
        #expect(await states.next() == [:])
        let observer = Observer()
        try await bench.general.read("inbox") { observer.see($0) }
        try await eventually("it is stuck") {
            if case .stuck(let error)? = bench.general.readers["inbox"] {
                return error.code == .diskFull
            }
            return false
        }
        #expect(bench.general.state == .live)
        let said = try #require(await bench.general.diagnostics.lastError)
        #expect(said.hasPrefix("The reader inbox cannot write down what it has done: "))
        // Who watches hears of it, too.
        var heard = await states.next()
        while heard == ["inbox": .running] { heard = await states.next() }
        #expect(heard == bench.general.readers)
        // The window of doubt is full; more is not handed over.
        #expect(observer.sequences.count < 200)
        try await makeRoom(bench)
        try await eventually("it has gone on") {
            bench.time.advance(by: .seconds(1))
            return bench.general.readers == ["inbox": .running] && observer.sequences.count == 200
        }
        #expect(observer.sequences == Array(1...200))
        try await eventually("and that is said") {
            await bench.general.diagnostics.lastError == nil
        }
        while heard != ["inbox": .running] { heard = await states.next() }
        #expect(try await bench.journal.ledger().isBalanced)
        try await bench.finish()
    }
}
