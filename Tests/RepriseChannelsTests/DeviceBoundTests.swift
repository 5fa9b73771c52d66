import Foundation
import GRDB
import RepriseChannels
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// Bounds of what a device takes from a server, and of what it writes at a time.
@Suite("Bounds of the device", .timeLimit(.minutes(1)))
struct DeviceBoundTests {
    @Test(
        "Guarantee 6: of 2,500 frames that come at once 1,000 are committed together",
        .limit("channels.framesPerCommit"))
    func framesOfCommit() async throws {
        let bench = try await Bench()
        let commits = MessagesOfCommits()
        try await bench.journal.write { db in
            // Messages are bound without copies, past what GRDB observes.
            db.add(
                function: DatabaseFunction("stored", argumentCount: 0) { _ in
                    commits.stored()
                    return nil
                })
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER watched AFTER INSERT ON main.channelsMessage BEGIN
                    SELECT stored(); END
                    """)
            db.add(transactionObserver: commits)
        }
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        _ = try await server.request()
        try server.subscribed(head: 2_500)
        try server.events(1...2_500)
        try server.syncComplete(through: 2_500)
        try await bench.general.caughtUp()
        #expect(commits.all.reduce(0, +) == 2_500)
        #expect(commits.all.max() == 1_000)
        try await bench.finish()
    }

    @Test(
        "Guarantee 6: a snapshot's request names 256 lost ranges, the ledger has all",
        .limit("channels.lostRanges"))
    func lostRanges() async throws {
        let bench = try await Bench()
        let asked = SnapshotTests.Asked()
        await bench.general.onSnapshot { _ = asked.add($0) }
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept()
        _ = try await server.request()
        // Every second message, and then retention has taken what was between.
        let bound = Int64(WireLimits.coverageRanges)
        try server.subscribed(head: 2 * bound + 1, floor: 2 * bound + 1)
        try server.events((1...bound).map { 2 * $0 })
        let all = try #require(SequenceRange(after: 0, through: 2 * bound + 1))
        server.push([
            .gone(channel: try ChannelName("general"), Gone(range: all, reason: .retention))
        ])
        try await eventually("it is asked") { asked.requests.count == 1 }
        #expect(asked.requests.first?.lost.count == 256)
        #expect(try await bench.journal.ledger().lost.map(\.count) == [bound + 1])
        try await bench.finish()
    }

    @Test(
        "Guarantee 6: of a channel's users the positions of 100 others are kept",
        .limit("channels.positions"))
    func positions() async throws {
        let (general, ada) = (try ChannelName("general"), try UserID("ada"))
        let bench = try await Bench()
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept(as: ada)
        _ = try await server.request()
        try server.subscribed(head: 9)
        let others = try (0..<110).map { number in
            ServerFrame.Position(
                user: try UserID("user-\(1_000 + number)"), read: 1, delivered: 1)
        }
        let first = [ServerFrame.Position(user: ada, read: 0, delivered: 0)] + others.prefix(99)
        server.push([
            .positions(
                .init(
                    channel: general, positions: first, unread: Unread(count: 9, head: 9)))
        ])
        for position in others.dropFirst(99) {
            server.push([.receipt(channel: general, position)])
        }
        var moved = others[0]
        moved.read = 5
        server.push([.receipt(channel: general, moved)])
        for await positions in bench.general.positions where positions[moved.user]?.read == 5 {
            #expect(positions.count == 100)
            #expect(positions[others[98].user] != nil)
            #expect(positions[others[109].user] == nil)
            break
        }
        try await bench.finish()
    }

    @Test(
        "Guarantee 6: positions that cannot be written wait a quarter of a second, doubling to 30",
        .limit("channels.positionWaits"))
    func positionsLater() async throws {
        let bench = try await Bench { configuration, _ in configuration.jitter = { 1 } }
        let failures = Mutex(0)
        try await bench.journal.write { db in
            db.add(
                function: DatabaseFunction("failed", argumentCount: 0) { _ in
                    failures.withLock { $0 += 1 }
                    return 1
                })
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER broken BEFORE INSERT ON main.channelsPosition BEGIN
                    SELECT failed(); SELECT RAISE(ABORT, 'broken'); END
                    """)
        }
        let (general, ada, bob) = (
            try ChannelName("general"), try UserID("ada"), try UserID("bob")
        )
        try await bench.general.subscribe()
        bench.start()
        let server = try await bench.accept(as: ada)
        _ = try await server.request()
        try server.subscribed(head: 9)
        server.push([
            .positions(
                .init(
                    channel: general,
                    positions: [
                        .init(user: ada, read: 0, delivered: 0),
                        .init(user: bob, read: 1, delivered: 1),
                    ], unread: Unread(count: 9, head: 9)))
        ])
        for wait in [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] as [Int64] {
            let next = bench.time.uptime() + .milliseconds(wait)
            try await eventually("it waits \(wait) ms") { bench.time.sleepers.contains(next) }
            // The connection stays: a server that says nothing would be given up.
            server.push([.heartbeat(time: bench.time.wall(), heads: [:])])
            try await eventually("the heartbeat is read") { server.socket.isDrained }
            let before = failures.withLock { $0 }
            bench.time.advance(by: .milliseconds(wait))
            try await eventually("and tries again") { failures.withLock { $0 } > before }
        }
        try await bench.finish()
    }
}

/// How many messages each commit has brought.
private final class MessagesOfCommits: TransactionObserver, Sendable {
    private let state = Mutex<(open: Int, commits: [Int])>((0, []))

    var all: [Int] { state.withLock { $0.commits.filter { $0 > 0 } } }

    func stored() { state.withLock { $0.open += 1 } }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseDidCommit(_ db: Database) {
        state.withLock { state in
            state.commits.append(state.open)
            state.open = 0
        }
    }

    func databaseDidRollback(_ db: Database) { state.withLock { $0.open = 0 } }
}
