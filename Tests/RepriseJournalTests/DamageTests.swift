import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Bad folders and damaged files")
struct DamageTests {
    private let kinds = [EntryKind("kind")]

    private func write(
        _ bytes: [UInt8], _ fixture: JournalFixture, _ name: String = "journal.sqlite"
    ) throws {
        try Data(bytes).write(to: fixture.folder.appending(name))
    }

    private func aside(_ fixture: JournalFixture) -> [String] {
        let folder = fixture.folder.appending("aside").path
        return (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// A journal with many entries, closed.
    private func filled(_ fixture: JournalFixture) async throws {
        let journal = try await fixture.open(kinds)
        try await journal.record((0..<2_000).map { try entry("id-\($0)") })
        await journal.close()
    }

    @Test("A file that is no database is moved aside and reported, and a new journal begun")
    func noDatabase() async throws {
        let fixture = try JournalFixture()
        let bytes = Array(repeating: Array("this is not a database. ".utf8), count: 400)
            .flatMap { $0 }
        try write(bytes, fixture)
        let journal = try await fixture.open(kinds)
        let moved = try #require(journal.opening.setAside)
        #expect([UInt8](try Data(contentsOf: moved)) == bytes)
        #expect(try await journal.record(entry("a")) == .accepted)
        await journal.close()
        let again = try await fixture.open(kinds)
        #expect(again.opening.setAside == nil)
        #expect(try await again.ledger().accepted == 1)
        await again.close()
    }

    /// As a kill in the first transaction leaves it: pages in the file, and a rollback journal that
    /// undoes them.
    private func leaveHalfMade(_ fixture: JournalFixture) throws {
        let elsewhere = try TemporaryFolder()
        let queue = try DatabaseQueue(path: elsewhere.appending("half").path)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA cache_size = 1;
                    BEGIN EXCLUSIVE; CREATE TABLE half (content BLOB);
                    """)
            for _ in 0..<50 { try db.execute(sql: "INSERT INTO half VALUES (zeroblob(4000))") }
            for (from, to) in [("half", ""), ("half-journal", "-journal")] {
                try FileManager.default.copyItem(
                    at: elsewhere.appending(from),
                    to: fixture.folder.appending("journal.sqlite" + to))
            }
            try db.execute(sql: "ROLLBACK")
        }
        try queue.close()
    }

    @Test("A process killed in its very first transaction leaves a journal that opens")
    func killedWhileMade() async throws {
        let fixture = try JournalFixture()
        try leaveHalfMade(fixture)
        let journal = try await fixture.open(kinds)
        #expect(journal.opening.setAside == nil)
        #expect(try await journal.record(entry("a")) == .accepted)
        await journal.close()
    }

    @Test("A database whose damage a check confirms is moved aside with its log")
    func damaged() async throws {
        let fixture = try JournalFixture()
        try await filled(fixture)
        let file = fixture.folder.appending("journal.sqlite")
        var bytes = [UInt8](try Data(contentsOf: file))
        #expect(bytes.count > 40_960)
        for index in 4_096..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
        try write(bytes, fixture)
        let journal = try await fixture.open(kinds)
        let moved = try #require(journal.opening.setAside)
        #expect([UInt8](try Data(contentsOf: moved)) == bytes)
        #expect(try await journal.ledger().accepted == 0)
        await journal.close()
    }

    @Test(
        "Damage found while running is a typed error, and the next opening checks it before it moves anything"
    )
    func damagedLater() async throws {
        let fixture = try JournalFixture()
        try await filled(fixture)
        let journal = try await fixture.open(kinds)
        let file = fixture.folder.appending("journal.sqlite")
        var bytes = [UInt8](try Data(contentsOf: file))
        for index in 40_960..<bytes.count { bytes[index] = 0xa5 }
        let handle = try FileHandle(forUpdating: file)
        try handle.write(contentsOf: Data(bytes))
        await expectError(.corrupt) {
            try await journal.read { db in
                try Row.fetchAll(db, sql: "SELECT * FROM entry").count
            }
        }
        await journal.close()
        let again = try await fixture.open(kinds)
        #expect(again.opening.setAside != nil)
        await again.close()
        withExtendedLifetime(handle) {}
    }

    /// As a letter that rots changes it, and no statement.
    private func rot(_ table: String, _ from: String, _ to: String, _ fixture: JournalFixture)
        throws
    {
        try fixture.sqlite(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, '\(from)', '\(to)') WHERE name = '\(table)';
            """)
    }

    @Test(
        "A changed letter of the schema, which passes SQLite's check, is found by its seal: a reader gets an error, and the owner moves the file aside"
    )
    func rottenSchema() async throws {
        let fixture = try JournalFixture()
        let first = try await fixture.open(kinds)
        try await first.record(entry("a"))
        await first.close()
        try rot("journal", "accepted", "bccepted", fixture)
        expectError(.corrupt) { try Journal.ledger(at: fixture.folder.url) }
        let journal = try await fixture.open(kinds)
        #expect(journal.opening.setAside != nil)
        #expect(try await journal.record(entry("b")) == .accepted)
        await journal.close()
        let again = try await fixture.open(kinds)
        #expect(again.opening.setAside == nil)
        #expect(try await again.ledger().accepted == 1)
        await again.close()
    }

    @Test("A damaged number in the journal's own row is damage, and the file is moved aside")
    func rottenRow() async throws {
        let fixture = try JournalFixture()
        await (try fixture.open(kinds)).close()
        let (whole, lax) = ("incarnation INTEGER NOT NULL", "incarnation INTEGER DEFAULT 0")
        try rot("journal", whole, lax, fixture)
        try fixture.sqlite("UPDATE journal SET incarnation = NULL")
        try rot("journal", lax, whole, fixture)
        let journal = try await fixture.open(kinds)
        #expect(journal.opening.setAside != nil)
        #expect(try await journal.record(entry("b")) == .accepted)
        await journal.close()
    }

    @Test("A column of another type, or an unexpected NULL, is a typed error and ends no process")
    func columns() throws {
        let row = try #require(
            try DatabaseQueue().read { db in
                try Row.fetchOne(
                    db, sql: "SELECT 7 AS number, 'x' AS word, NULL AS empty, x'00ff' AS bytes")
            })
        #expect(try row.integer(0) == 7 && row.text(1) == "x" && row.bytes(3) == [0, 0xff])
        #expect(try row.optionalInteger(2) == nil && row.optionalText(1) == "x")
        #expect(try row.checked("number") as Int64 == 7)
        #expect(try row.checked("empty") as String? == nil)
        expectError(.corrupt) { try row.integer(1) }
        expectError(.corrupt) { try row.integer(2) }
        expectError(.corrupt) { try row.text(0) }
        expectError(.corrupt) { try row.optionalInteger(1) }
        expectError(.corrupt) { try row.bytes(2) }
        let error = expectError(.corrupt) { try row.checked("empty") as Int }
        #expect(error?.message.contains("empty") == true && error?.remedy != nil)
    }

    @Test(
        "A file cut to nothing, and a first page that has lost its tables, are damage and no new journal",
        arguments: ["file", "page"])
    func emptied(_ what: String) async throws {
        let fixture = try JournalFixture()
        try await filled(fixture)
        let file = fixture.folder.appending("journal.sqlite")
        var bytes = [UInt8](try Data(contentsOf: file))
        if what == "file" {
            bytes = []
        } else {
            // The number of cells in the root page of the schema's table.
            bytes.replaceSubrange(103..<105, with: [0, 0])
            try FileManager.default.removeItem(at: fixture.folder.appending("journal.sqlite-wal"))
        }
        try write(bytes, fixture)
        let journal = try await fixture.open(kinds)
        let aside = try #require(journal.opening.setAside)
        #expect([UInt8](try Data(contentsOf: aside)) == bytes, "it is kept as it was found")
        #expect(try await journal.ledger().accepted == 0)
        await journal.close()
    }

    @Test("Tables that an app makes and changes break no seal, and are sealed by the next opening")
    func foreignTables() async throws {
        let fixture = try JournalFixture()
        await (try fixture.open(kinds)).close()
        try fixture.sqlite("CREATE TABLE notes (text); ALTER TABLE notes ADD COLUMN time")
        let second = try await fixture.open(kinds)
        #expect(second.opening.setAside == nil)
        await second.close()
        try rot("notes", "time", "tile", fixture)
        let third = try await fixture.open(kinds)
        #expect(third.opening.setAside != nil)
        await third.close()
    }

    @Test("A suspicion that a check does not confirm moves nothing")
    func suspicion() async throws {
        let fixture = try JournalFixture()
        try await filled(fixture)
        try write([], fixture, "suspect")
        let journal = try await fixture.open(kinds)
        #expect(journal.opening.setAside == nil)
        #expect(try await journal.ledger().accepted == 2_000)
        await journal.close()
        #expect(
            !FileManager.default.fileExists(atPath: fixture.folder.appending("suspect").path))
    }

    @Test("A broken row is quarantined and counted as dead, and the rest goes on")
    func quarantine() async throws {
        let fixture = try JournalFixture()
        let first = try await fixture.open(kinds)
        try await first.record([
            entry("a"), entry("b", partitionKey: "lane"), entry("c", partitionKey: "lane"),
            entry("d"), entry("e"), entry("f"), entry("g"),
        ])
        await first.close()
        try fixture.sqlite(
            """
            UPDATE entry SET id = 'not an id' WHERE id = 'b';
            UPDATE entry SET state = 77 WHERE id = 'd';
            UPDATE entry SET attempt = -9 WHERE id = 'e';
            UPDATE entry SET attempt = 9223372036854775807 WHERE id = 'f';
            UPDATE entry SET failures = 9223372036854775807 WHERE id = 'g';
            """)
        let journal = try await fixture.open(kinds)
        #expect(journal.opening.quarantined == 1)
        let seen = Seen<String>()
        await journal.handle("kind") { seen.add($0.id.text) }
        try await eventually("the rest goes on") { seen.count == 2 }
        try await eventually("the sum adds up") {
            let ledger = try await journal.ledger()
            return ledger.pending == 0 && ledger.isBalanced && ledger.outcomes[.dead] == 5
        }
        #expect(seen.all == ["a", "c"])
        let kept = try await journal.read { db in
            try String.fetchAll(db, sql: "SELECT why FROM quarantine")
        }
        #expect(kept.count == 5)
        await journal.close()
    }

    @Test(
        "A value that has rotted into another type blocks no other entry and no opening",
        arguments: ["ready", "delayed", "in flight"])
    func rottenType(state: String) async throws {
        let fixture = try JournalFixture()
        let first = try await fixture.open(kinds)
        let delay: Duration? = state == "delayed" ? .seconds(600) : nil
        try await first.record([
            entry("a", delay: delay), entry("b", partitionKey: "lane", delay: delay),
            entry("c", partitionKey: "lane", delay: delay),
            entry("d", partitionKey: "lane", delay: delay),
        ])
        await first.close()
        if state == "in flight" {
            try fixture.sqlite("UPDATE entry SET state = 3, incarnation = 1 WHERE id IN ('a', 'b')")
        }
        // As one bit in the header of a row changes it.
        try RepriseTestSupport.rot(
            "source", "TEXT NOT NULL", of: "entry", to: "CAST(source AS BLOB)",
            where: "id IN ('b', 'c')", in: fixture.folder.appending("journal.sqlite").path)
        let journal = try await fixture.open(kinds)
        #expect(journal.opening.setAside == nil)
        #expect(journal.opening.quarantined == (state == "in flight" ? 2 : 0))
        let seen = Seen<String>()
        await journal.handle("kind") { seen.add($0.id.text) }
        fixture.time.advance(by: .seconds(600))
        try await eventually("the others are dispatched") { Set(seen.all) == ["a", "d"] }
        try await eventually("the sum adds up") {
            let ledger = try await journal.ledger()
            return ledger.pending == 0 && ledger.isBalanced && ledger.outcomes[.dead] == 2
        }
        await journal.close()
    }

    @Test("A feature that cannot remove what is over keeps no entry from its handler")
    func rottenFeature() async throws {
        let fixture = try JournalFixture()
        let feature = JournalSchema(
            name: "feature", migrations: [],
            prune: { _, _ in throw RepriseError(.corrupt, "A row cannot be read.") })
        let journal = try await fixture.open(kinds, schemas: [feature])
        let seen = Seen<String>()
        await journal.handle("kind") { seen.add($0.id.text) }
        try await journal.record(entry("a"))
        try await eventually("it is dispatched") { seen.all == ["a"] }
        await journal.close()
    }

    @Test("A journal of a newer version is refused and not touched")
    func newer() async throws {
        let fixture = try JournalFixture()
        try await filled(fixture)
        try fixture.sqlite("INSERT INTO grdb_migrations VALUES ('journal/999')")
        let before = try Data(contentsOf: fixture.folder.appending("journal.sqlite"))
        await expectError(.journalNewer) { try await fixture.open(kinds) }
        expectError(.journalNewer) {
            try Journal.ledger(at: fixture.folder.url)
        }
        #expect(try Data(contentsOf: fixture.folder.appending("journal.sqlite")) == before)
        #expect(aside(fixture).isEmpty)
    }

    @Test("The database of another program is refused and not touched")
    func foreign() async throws {
        let fixture = try JournalFixture()
        try fixture.sqlite("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        let before = try Data(contentsOf: fixture.folder.appending("journal.sqlite"))
        await expectError(.notAJournal) { try await fixture.open(kinds) }
        #expect(try Data(contentsOf: fixture.folder.appending("journal.sqlite")) == before)
    }

    @Test("A database file that a killed process had only begun is a new journal")
    func begun() async throws {
        let fixture = try JournalFixture()
        try write([], fixture)
        let first = try await fixture.open(kinds)
        #expect(first.opening.setAside == nil)
        await first.close()
        let other = try JournalFixture()
        try other.sqlite("CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
        let second = try await other.open(kinds)
        #expect(try await second.record(entry("a")) == .accepted)
        await second.close()
    }

    @Test("A folder that is a file, and a database that is a folder, are refused by their paths")
    func wrongSort() async throws {
        let fixture = try JournalFixture()
        try write([1], fixture, "file")
        for name in ["file", "file/below"] {
            let error = await expectError(.notAJournal) {
                try await Journal.open(at: fixture.folder.appending(name), kinds: kinds)
            }
            #expect(
                error?.message == "\(fixture.folder.path("file")) is a file, and a folder belongs "
                    + "there.", "\(name)")
        }
        let folder = try #require(throws: RepriseError.self) {
            try DurableFile.write([1], to: fixture.folder.url.path)
        }
        #expect(
            folder.message == "\(fixture.folder.url.path) is a folder, and a file belongs there.")
        try FileManager.default.createDirectory(
            at: fixture.folder.appending("journal.sqlite"), withIntermediateDirectories: false)
        await expectError(.notAJournal) { try await fixture.open(kinds) }
        expectError(.notAJournal) {
            try Journal.ledger(at: fixture.folder.url)
        }
        expectError(.notAJournal) {
            try Journal.ledger(at: fixture.folder.appending("nothing"))
        }
    }

    @Test(
        "A folder on a file system that cannot be written is refused",
        .enabled(if: TemporaryDisk.canMount))
    func readOnly() async throws {
        let disk = try TemporaryDisk(kibibytes: 4_096)
        let journal = try await Journal.open(at: disk.folder, kinds: kinds)
        try await journal.record(entry("a"))
        await journal.close()
        try disk.remount("ro")
        await expectError(.notWritable) {
            try await Journal.open(at: disk.folder, kinds: kinds)
        }
        expectError(.notWritable) {
            try Spool(at: disk.folder).record(entry("b"))
        }
        #expect(try Journal.ledger(at: disk.folder).accepted == 1)
    }

    @Test(
        "Guarantee 1: on a full disk nothing is acknowledged, nothing is lost, and it goes on with room",
        .enabled(if: TemporaryDisk.canMount))
    func fullDisk() async throws {
        let disk = try TemporaryDisk(kibibytes: 2_048)
        let journal = try await Journal.open(
            at: disk.folder.appendingPathComponent("journal"), kinds: kinds)
        var acknowledged: [String] = []
        var failure: RepriseError?
        for number in 0..<200 where failure == nil {
            do {
                let new = NewEntry(
                    id: try EntryID("id-\(number)"), kind: "kind",
                    payload: [UInt8](repeating: 7, count: 60_000))
                try await journal.record(new)
                acknowledged.append("id-\(number)")
            } catch let error as RepriseError {
                failure = error
            }
        }
        #expect(failure?.code == .diskFull)
        #expect(!acknowledged.isEmpty)
        expectError(.diskFull) {
            var new = try entry("spooled")
            new.payload = [UInt8](repeating: 7, count: 200_000)
            try Spool(at: disk.folder.appendingPathComponent("journal")).record(new)
        }
        let ledger = try await journal.ledger()
        #expect(ledger.accepted == Int64(acknowledged.count))
        #expect(ledger.isBalanced)

        try disk.remount("size=64m")
        #expect(try await journal.record(entry("with-room")) == .accepted)
        let seen = Seen<String>()
        await journal.handle("kind") { seen.add($0.id.text) }
        try await eventually("all are dispatched") {
            seen.count == acknowledged.count + 1
        }
        #expect(Set(seen.all) == Set(acknowledged + ["with-room"]))
        await journal.close()
    }

    @Test(
        "An opening on a full disk says so and leaves nothing half made",
        .enabled(if: TemporaryDisk.canMount))
    func fullAtOpening() async throws {
        let disk = try TemporaryDisk(kibibytes: 64)
        try? Data(count: 60_000).write(to: disk.folder.appendingPathComponent("ballast"))
        await expectError(.diskFull) {
            try await Journal.open(at: disk.folder, kinds: kinds)
        }
        try disk.remount("size=8m")
        let journal = try await Journal.open(at: disk.folder, kinds: kinds)
        #expect(try await journal.record(entry("a")) == .accepted)
        await journal.close()
    }
}
