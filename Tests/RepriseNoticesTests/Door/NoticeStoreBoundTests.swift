import Foundation
import GRDB
import Reprise
import RepriseCore
import RepriseJournal
import RepriseTesting
import Synchronization
import Testing

/// What the door writes and keeps: docs/limits.md, Notices.
@Suite("Bounds of what the door for notices writes", .timeLimit(.minutes(1)))
struct NoticeStoreBoundTests {
    private let system = MemoryNotifications(clock: ManualTimekeeper())

    /// Counts rows of a table that were written, a transaction at a time.
    private final class Transactions: TransactionObserver, Sendable {
        private struct State {
            var rows = 0
            var all: [Int] = []
        }

        private let table: String
        private let state = Mutex(State())

        init(of table: String) { self.table = table }

        /// How many rows each transaction wrote that wrote any.
        var rows: [Int] { state.withLock { $0.all } }

        func observes(eventsOfKind kind: DatabaseEventKind) -> Bool { kind.tableName == table }
        func databaseDidChange(with event: DatabaseEvent) { state.withLock { $0.rows += 1 } }
        func databaseDidRollback(_ db: Database) { state.withLock { $0.rows = 0 } }
        func databaseDidCommit(_ db: Database) {
            state.withLock { state in
                if state.rows > 0 { state.all.append(state.rows) }
                state.rows = 0
            }
        }
    }

    @Test("64 channels are looked at in one transaction, the next in the next")
    func channels() async throws {
        let stage = try NoticeStage()
        let device = try await stage.open(system: system)
        try stage.publish()
        try await device.live(through: 1)
        let transactions = Transactions(of: "noticesChannel")
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
        try await comesTrue("all are known") {
            try await device.value("SELECT COUNT(*) FROM noticesChannel") == 151
        }
        #expect(transactions.rows == [64, 64, 22])
        await device.close()
    }

    @Test("what was decided is removed seven days after it, once nothing of it stands")
    func kept() async throws {
        let stage = try NoticeStage()
        let first = try await stage.open(system: system)
        let now = WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
        try await first.reprise.journal.write { db in
            for (id, age) in [("kept", Int64(7 * 86_400 - 3_600)), ("past", 7 * 86_400 + 3_600)] {
                try db.execute(
                    sql: """
                        INSERT INTO noticesMessage
                            (id, channel, seq, time, standing, way, reason, presentation, decided)
                        VALUES (?, 'other', 1, 0, 2, 'live', 'new', 0, ?)
                        """, arguments: [id, now.milliseconds - age * 1_000])
            }
        }
        await first.close()
        let second = try await stage.open(system: system)
        try await comesTrue("the one that is past is removed") {
            try await second.value("SELECT COUNT(*) FROM noticesMessage WHERE id = 'past'") == 0
        }
        #expect(try await second.value("SELECT COUNT(*) FROM noticesMessage") == 1)
        await second.close()
    }
}
