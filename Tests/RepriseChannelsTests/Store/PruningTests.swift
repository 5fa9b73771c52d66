import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Retention on the device")
struct PruningTests {
    struct NotYet: Error {}

    /// What is left once nothing more goes.
    private func prune(_ bench: Bench, _ retention: MessageRetention, at now: Int64) async throws
        -> [Int64]
    {
        try await bench.journal.write { db in
            while try Channels.prune(db, keeping: retention, at: WallTime(milliseconds: now)) {}
        }
        return try await bench.journal.read { db in
            try Int64.fetchAll(db, sql: "SELECT seq FROM channelsMessage ORDER BY seq")
        }
    }

    private func caughtUp(_ bench: Bench, head: Int64) async throws -> ScriptedChannelServer {
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: head)
        try await bench.general.caughtUp()
        return server
    }

    @Test(
        "Old finished messages are removed, coverage and ledger stay, and no message comes again",
        .limit("channels.retention"))
    func old() async throws {
        let bench = try await Bench()
        let observer = Observer()
        try await bench.general.read("inbox") { observer.see($0) }
        let server = try await caughtUp(bench, head: 1_200)
        // The times of the script are 1,000 + seq.
        let left = try await prune(
            bench, .init(age: .zero, most: 1_000, least: 10), at: 1_000 + 701)
        #expect(left == Array(701...1_200))
        #expect(
            try await prune(bench, .init(age: .zero, most: 1_000, least: 10), at: 9_000)
                == Array(1_191...1_200))
        #expect(try await prune(bench, .init(most: 4, least: 2), at: 9_000) == Array(1_197...1_200))
        let ledger = try await bench.journal.ledger()
        #expect(ledger.accepted == 1_200)
        #expect(ledger.outcomes[.applied] == 1_200)
        #expect(ledger.isBalanced)
        try server.events(1...3)
        try server.events(1_201...1_201)
        try await eventually("only what is new is dispatched") {
            observer.sequences == Array(1...1_201)
        }
        // Nor does it come again under another epoch.
        try server.subscribed(head: 2, epoch: "e2")
        try server.events([1, 2])
        try server.syncComplete(through: 2, epoch: "e2")
        try await eventually("both have come under it") {
            let diagnostics = await bench.general.diagnostics
            return diagnostics.head == 2 && diagnostics.missing == 0
        }
        try await bench.general.caughtUp()
        #expect(observer.messages.count == 1_201)
        #expect(try await bench.journal.ledger().isBalanced)
        try await bench.finish()
    }

    @Test(
        "Messages that a reader has yet to handle stay; dead letters are removed and stay counted",
        .limit("channels.retention"),
        arguments: [
            ReaderOptions.Order.arrival, .ordered,
        ])
    func unfinished(_ order: ReaderOptions.Order) async throws {
        let bench = try await Bench()
        let options = ReaderOptions(order: order, attemptLimit: 1, window: 1)
        try await bench.general.read("inbox", options: options) { message in
            if message.seq == 3 { throw NotYet() }
            if message.seq == 7 { try await Task.sleep(for: .seconds(3_600)) }
        }
        bench.start()
        let server = try await bench.accept()
        try server.catchUp(try await server.request(), head: 10)
        try await eventually("it hangs at 7") {
            try await bench.journal.ledger().outcomes[.dead] == 1
        }
        let left = try await prune(bench, .init(age: .zero, least: 0), at: 9_000)
        #expect(left.last == 10)
        #expect(Set(left).isSuperset(of: Array(7...10)))
        #expect(!left.contains(3))
        let ledger = try await bench.journal.ledger()
        #expect(ledger.outcomes[.dead] == 1)
        #expect(ledger.accepted == 10)
        #expect(ledger.isBalanced)
        bench.stop()
    }

    @Test("A channel whose coverage cannot be read loses nothing, and others are pruned")
    func damagedCoverage() async throws {
        let bench = try await Bench()
        try await bench.general.read("inbox") { _ in }
        _ = try await caughtUp(bench, head: 10)
        try await bench.journal.write { db in
            try db.execute(
                sql: """
                    INSERT INTO channelsLog (channel, epoch, coverage, head, version)
                        VALUES ('other', 'e1', '[[0,30]]', 30, 0);
                    INSERT INTO channelsMessage (arrival, log, seq, id, time, body)
                        SELECT (g.id << 40) + m.seq, g.id, 20 + m.seq, m.id, m.time, m.body
                        FROM channelsMessage AS m JOIN channelsLog AS g ON g.channel = 'other'
                        WHERE m.seq <= 2;
                    UPDATE channelsLog SET coverage = '[[1,' WHERE channel = 'general';
                    """)
        }
        #expect(
            try await prune(bench, .init(age: .zero, least: 0), at: 9_000) == Array(1...10))
        try await bench.finish()
    }

    @Test(
        "Messages that were missing in a former epoch come in the next, although others were pruned meanwhile"
    )
    func holeOfFormerEpoch() async throws {
        let bench = try await Bench()
        let observer = Observer()
        try await bench.general.read("inbox") { observer.see($0) }
        bench.start()
        let server = try await bench.accept()
        _ = try await server.request()
        try server.subscribed(head: 10)
        try server.events([1, 2, 3, 4, 5, 8, 9, 10])
        try await eventually("all but the hole") { observer.messages.count == 8 }
        try server.subscribed(head: 10, epoch: "e2")
        try await eventually("the epoch is durable") {
            try await bench.journal.read { db in
                try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM channelsLog") == 2
            }
        }
        #expect(try await prune(bench, .init(age: .zero, least: 0), at: 9_000).isEmpty)
        try server.events(1...10)
        try server.syncComplete(through: 10, epoch: "e2")
        try await bench.general.caughtUp()
        try await eventually("what was missing") { observer.messages.count == 10 }
        #expect(observer.sequences.suffix(2) == [6, 7])
        #expect(try await bench.journal.ledger().isBalanced)
        try await bench.finish()
    }

    @Test("Old messages of a channel without a reader expire")
    func unread() async throws {
        let bench = try await Bench()
        try await bench.general.subscribe()
        _ = try await caughtUp(bench, head: 5)
        #expect(try await prune(bench, .init(age: .zero, least: 1), at: 9_000) == [5])
        let ledger = try await bench.journal.ledger()
        #expect(ledger.outcomes[.expired] == 4)
        #expect(ledger.isBalanced)
        try await bench.finish()
    }
}
