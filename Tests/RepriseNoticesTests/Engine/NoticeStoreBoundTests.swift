import Foundation
import GRDB
import Reprise
import RepriseCore
import RepriseJournal
import RepriseNotices
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// What the door writes and keeps: docs/limits.md, Notices.
@Suite("Bounds of the notices feature's writes", .timeLimit(.minutes(1)))
struct NoticeStoreBoundTests {
    private let system = MemoryNotifications(clock: ManualClock())

    /// By how many rows each transaction made the table of channels longer.
    ///
    /// Counted: SQLite tells nobody of rows without a rowid.
    private final class Transactions: TransactionObserver, Sendable {
        private let counts = Mutex<[Int]>([1])

        var rows: [Int] {
            let counts = counts.withLock { $0 }
            return zip(counts.dropFirst(), counts).map { $0 - $1 }.filter { $0 > 0 }
        }

        func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { false }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseDidRollback(_ db: Database) {}
        func databaseDidCommit(_ db: Database) {
            guard let count = try? Int.fetchOne(db, sql: "SELECT COUNT(*) FROM noticesChannel")
            else { return }
            counts.withLock { $0.append(count) }
        }
    }

    @Test(
        "64 channels are looked at in one transaction, the next in the next",
        .limit("notices.channels"))
    func channels() async throws {
        let stage = try NoticeFixture()
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let transactions = Transactions()
        try await device.reprise.journal.write { db in
            db.add(transactionObserver: transactions, extent: .databaseLifetime)
            for number in 100..<250 {
                try db.execute(
                    sql: """
                        INSERT INTO channelsLog (channel, epoch, coverage, head, version)
                        SELECT 'c-\(number)', epoch, coverage, head, version FROM channelsLog
                        WHERE channel = 'general'
                        """)
            }
        }
        device.notices.permissionChanged()
        // The observer hears of a commit after a reader may see it.
        try await eventually("all are known") { transactions.rows.reduce(0, +) == 150 }
        #expect(transactions.rows == [64, 64, 22])
        await device.close()
    }

    @Test(
        "a decision is removed after seven days, once its notification is gone",
        .limit("notices.kept"))
    func kept() async throws {
        let stage = try NoticeFixture()
        let device = try await stage.open(system: system)
        let now = WallTime(milliseconds: 2_000_000_000_000)
        let left = try await device.reprise.journal.write { db in
            for (id, age) in [("kept", Int64(7 * 86_400 - 1)), ("past", 7 * 86_400 + 1)] {
                try db.execute(
                    sql: """
                        INSERT INTO noticesMessage
                            (id, channel, seq, time, standing, way, reason, presentation, decided)
                        VALUES (?, 'other', 1, 0, 2, 'live', 'new', 0, ?)
                        """, arguments: [id, now.milliseconds - age * 1_000])
            }
            _ = try NoticeTables.prune(db, at: now)
            return try String.fetchAll(db, sql: "SELECT id FROM noticesMessage")
        }
        #expect(left == ["kept"])
        await device.close()
    }

    @Test(
        "a calendar that was set wrong while the device was off takes nothing from the seven days")
    func hiddenJump() async throws {
        let (folder, time) = (try TemporaryFolder(), ManualClock())
        func open() async throws -> Journal {
            var configuration = Journal.Configuration()
            configuration.timekeeper = time
            return try await Journal.open(
                at: folder.url, kinds: [], schemas: [Notices.schema], configuration: configuration)
        }
        let first = try await open()
        let now = time.wall().milliseconds
        try await first.write { db in
            for (id, days) in [("kept", Int64(1)), ("past", 8)] {
                let at = now - days * 86_400_000
                try db.execute(
                    sql: """
                        INSERT INTO noticesMessage
                            (id, channel, seq, time, standing, way, reason, presentation, decided)
                        VALUES (?, 'other', 1, 0, 2, 'live', 'new', 0, ?)
                        """, arguments: [id, at])
                try db.execute(
                    sql: "INSERT INTO noticesTap (entry, at, action) VALUES (?, ?, 'open')",
                    arguments: [id, at])
            }
        }
        await first.close()
        time.jumpWall(by: .seconds(400 * 86_400))
        time.restart()
        let second = try await open()
        // More than the day after which a calendar is believed that nobody confirms.
        try await eventually("what is older is removed") {
            time.advance(by: .seconds(3_600))
            return try await second.read { db in
                try String.fetchAll(
                    db, sql: "SELECT id FROM noticesMessage UNION ALL SELECT entry FROM noticesTap")
            } == ["kept", "kept"]
        }
        await second.close()
    }
}
