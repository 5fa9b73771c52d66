import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Recording")
struct RecordingTests {
    @Test("Guarantee 1: a recorded entry is there after the journal is closed and opened again")
    func durable() async throws {
        let fixture = try JournalFixture()
        let first = try await fixture.open([EntryKind("kind")])
        #expect(try await first.record(entry("a", partitionKey: "lane")) == .accepted)
        await first.close()
        let second = try await fixture.open([EntryKind("kind")])
        let found = try #require(try await second.entry(EntryID("a")))
        #expect(found.payload == Array("a".utf8))
        #expect(found.partitionKey == "lane")
        #expect(found.state == .pending)
        #expect(found.recordedAt == fixture.time.wall())
        #expect(second.incarnation > first.incarnation)
        await second.close()
    }

    @Test("Guarantee 1: the writer commits with synchronous FULL in write-ahead mode")
    func synchronousFull() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([])
        let (synchronous, mode) = try await journal.write { db in
            (
                try Int.fetchOne(db, sql: "PRAGMA synchronous"),
                try String.fetchOne(db, sql: "PRAGMA journal_mode")
            )
        }
        #expect(synchronous == 2)
        #expect(mode == "wal")
        await journal.close()
    }

    @Test("Guarantee 4: the same id by two paths is one entry, and the second arrival is counted")
    func merged() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        #expect(try await journal.record([entry("a"), entry("a")]) == [.accepted, .duplicate])
        #expect(try await journal.record(entry("a")) == .duplicate)
        let ledger = try await journal.ledger()
        #expect(ledger.accepted == 1)
        #expect(ledger.duplicates == 2)
        #expect(ledger.pending == 1)
        #expect(ledger.isBalanced)
        await journal.close()
    }

    @Test("A call with one bad entry records none of them")
    func allOrNone() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        await expectError(.unknownKind) {
            try await journal.record([entry("a"), entry("b", "other")])
        }
        #expect(try await journal.entry(EntryID("a")) == nil)
        #expect(try await journal.ledger().accepted == 0)
        await journal.close()
    }

    @Test(
        "Guarantee 6: a payload, a name or a batch beyond its limit is refused, and at its limit taken",
        .limit("journal.payload", "journal.names", "journal.record")
    )
    func limits() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        var large = try entry("a")
        large.payload = [UInt8](repeating: 1, count: JournalLimits.payloadBytes)
        #expect(try await journal.record(large) == .accepted)
        #expect(try await journal.entry(EntryID("a"))?.payload == large.payload)
        large.payload.append(1)
        await expectError(.tooLarge) { try await journal.record(large) }
        var source = try entry("b")
        source.source = String(repeating: "s", count: 65)
        await expectError(.tooLarge) { try await journal.record(source) }
        let partitionKey = try entry("c", partitionKey: String(repeating: "l", count: 129))
        await expectError(.tooLarge) {
            try await journal.record(partitionKey)
        }
        let many = (0...JournalLimits.entriesPerRecord).map { _ in
            NewEntry(kind: "kind", payload: [])
        }
        await expectError(.tooLarge) { try await journal.record(many) }
        await journal.close()
    }

    @Test(
        "Guarantee 6: at the limit of pending entries a new one is refused, a duplicate recognised",
        .limit("journal.pending"))
    func full() async throws {
        let fixture = try JournalFixture()
        var configuration = fixture.configuration
        configuration.pendingLimit = 2
        let kinds = [EntryKind("kind", requires: [.ui])]
        let journal = try await Journal.open(
            at: fixture.folder.url, kinds: kinds, configuration: configuration)
        try await journal.record([entry("a"), entry("b")])
        await expectError(.full) { try await journal.record(entry("c")) }
        #expect(try await journal.record(entry("a")) == .duplicate)
        await journal.handle("kind") { _ in }
        await journal.setReady(.ui)
        try await eventually("room is made by what ends") {
            try await journal.ledger().pending == 0
        }
        #expect(try await journal.record(entry("c")) == .accepted)
        await journal.close()
    }

    @Test("Writes made at the same time: one that fails undoes itself alone")
    func groups() async throws {
        struct Refused: Error {}
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        let failures = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    do {
                        try await journal.write { db in
                            try journal.record(entry("id-\(number)"), in: db)
                            if number % 3 == 0 { throw Refused() }
                        }
                        return false
                    } catch {
                        return error is Refused
                    }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failures == 67)
        let ledger = try await journal.ledger()
        #expect(ledger.accepted == 133)
        #expect(ledger.pending == 133)
        #expect(ledger.isBalanced)
        await journal.close()
    }

    @Test("After close every call says that the journal is closed")
    func closed() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        await journal.close()
        await journal.close()
        await expectError(.closed) { try await journal.record(entry("a")) }
        await expectError(.closed) { try await journal.ledger() }
    }

    @Test(
        "Two kinds of one name, and a name that is too long, are refused", .limit("journal.names"))
    func badKinds() async throws {
        let fixture = try JournalFixture()
        await expectError(.badConfiguration) {
            try await fixture.open([EntryKind("a"), EntryKind("a")])
        }
        await expectError(.badConfiguration) {
            try await fixture.open([EntryKind(String(repeating: "a", count: 65))])
        }
    }

    @Test("A feature's tables are there, recovered at each opening and part of the ledger")
    func schema() async throws {
        let fixture = try JournalFixture()
        let feature = JournalSchema(
            name: "door",
            migrations: [
                { db in try db.execute(sql: "CREATE TABLE doorOpening (incarnation INTEGER)") },
                { db in try db.execute(sql: "ALTER TABLE doorOpening ADD COLUMN note TEXT") },
            ],
            recover: { db, incarnation in
                try db.execute(
                    sql: "INSERT INTO doorOpening VALUES (?, 'x')", arguments: [incarnation])
            },
            ledger: { db in
                var sum = LedgerSum()
                let count = try Int64.fetchOne(db, sql: "SELECT COUNT(*) FROM doorOpening")
                sum.accepted = count ?? 0
                sum.pending = sum.accepted
                return sum
            })
        for opening in 1...3 {
            let journal = try await fixture.open([], schemas: [feature])
            #expect(try await journal.ledger().accepted == Int64(opening))
            await journal.close()
        }
        #expect(try Journal.ledger(at: fixture.folder.url, schemas: [feature]).pending == 3)
    }
}
