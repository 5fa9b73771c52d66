import Foundation
import GRDB
import Reprise
import RepriseCore
import RepriseJournal
import RepriseTesting
import Testing

/// What `make crash` found about the ledger of an owner that was killed at an awkward moment.
@Suite("The ledger of a killed owner")
struct KilledLedgerTests {
    @Test("can be read when the kill came between two migrations")
    func betweenMigrations() async throws {
        let folder = try TemporaryFolder()
        // As far as an owner comes whose doors have no tables yet.
        let journal = try await Journal.open(at: folder.url, kinds: [EntryKind("kind")])
        try await journal.record(NewEntry(kind: "kind", payload: []))
        await journal.close()
        let sum = try AccountClient.ledger(at: folder.url)
        #expect(sum.accepted == 1 && sum.isBalanced)
    }

    @Test(
        "is read in a copy when its tables are half made or older than ours, and it stays as it is")
    func olderTables() async throws {
        let folder = try TemporaryFolder()
        let kinds = [EntryKind("kind")]
        let journal = try await Journal.open(
            at: folder.url, kinds: kinds, schemas: [Self.feature(versions: 1)])
        try await journal.record(NewEntry(kind: "kind", payload: []))
        await journal.close()
        let sum = try Journal.ledger(at: folder.url, schemas: [Self.feature(versions: 2)])
        #expect(sum.accepted == 4 && sum.isBalanced)
        // An older owner refuses tables that are newer than it knows.
        await
            (try await Journal.open(
                at: folder.url, kinds: kinds, schemas: [Self.feature(versions: 1)])).close()
    }

    /// A door that has had one thing, and since its second version two that have left it.
    private static func feature(versions: Int) -> JournalSchema {
        let all: [JournalSchema.Migration] = [
            { db in try db.execute(sql: "CREATE TABLE doorThing AS SELECT 1 AS id") },
            { db in try db.execute(sql: "CREATE TABLE doorRetired AS SELECT 2 AS count") },
        ]
        return JournalSchema(
            name: "door", migrations: Array(all.prefix(versions)),
            ledger: { db in
                var sum = LedgerSum()
                guard versions > 1 else { return sum }
                sum.accepted =
                    try Int64.fetchOne(
                        db,
                        sql: """
                            SELECT (SELECT COUNT(*) FROM doorThing) + (SELECT count FROM doorRetired)
                            """) ?? 0
                sum.outcomes[.applied] = sum.accepted
                return sum
            })
    }

    @Test("can be read at once when the kill came between the log's header and its first frame")
    func headerOnly() async throws {
        let (folder, killed) = (try TemporaryFolder(), try TemporaryFolder())
        let first = try await Journal.open(at: folder.url, kinds: [EntryKind("kind")])
        try await first.record(NewEntry(kind: "kind", payload: []))
        await first.close()
        try copy("journal.sqlite", folder, killed)
        let second = try await Journal.open(at: folder.url, kinds: [EntryKind("kind")])
        for name in ["journal.sqlite-wal", "journal.sqlite-shm"] { try copy(name, folder, killed) }
        await second.close()
        #expect(truncate(killed.appending("journal.sqlite-wal").path, 32) == 0)

        let start = ContinuousClock.now
        #expect(try Journal.ledger(at: killed.url).accepted == 1)
        #expect(.now - start < .seconds(9), "SQLite waits 10 s for a writer that is dead")
    }

    @Test("of an owner that is just opening is waited for")
    func opening() async throws {
        let folder = try TemporaryFolder()
        let journal = try await Journal.open(at: folder.url, kinds: [EntryKind("kind")])
        try await journal.record(NewEntry(kind: "kind", payload: []))
        await journal.close()
        let owner = try ChildProcess(
            .sibling("crash-loop"),
            ["opening", "--database", folder.appending("journal.sqlite").path])
        #expect(owner.readLine() == "opening")
        #expect(try Journal.ledger(at: folder.url).accepted == 1)
        #expect(owner.wait() == .exit(0), "it was still opening when the ledger was asked for")
    }

    private func copy(_ name: String, _ from: TemporaryFolder, _ to: TemporaryFolder) throws {
        try FileManager.default.copyItem(at: from.appending(name), to: to.appending(name))
    }
}
