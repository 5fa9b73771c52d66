import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

/// Bounds that are cut to instead of refused.
@Suite("Bounds of the journal")
struct BoundTests {
    @Test("Guarantee 6: a reason is cut to 1,024 bytes, and stays a text", .limit("journal.reason"))
    func reason() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        await journal.handle("kind") { _ in
            throw DispatchFailure.permanent(String(repeating: "ä€", count: 1_000))
        }
        try await journal.record(entry("a"))
        try await eventually("it is dead") { try await journal.deadLetters().count == 1 }
        let reason = try #require(try await journal.deadLetters().first?.reason)
        // A character that is cut in two becomes one that says so.
        #expect((1_022...1_027).contains(reason.utf8.count))
        await journal.close()
    }

    @Test(
        "Guarantee 6: a wait of ages is a hundred years, and no sum of times overflows",
        .limit("journal.longestWait"))
    func delay() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        try await journal.record(entry("a", delay: .seconds(Int64.max / 4)))
        let due = try await journal.read { db in
            try Int64.fetchOne(db, sql: "SELECT due - recordedAt FROM entry")
        }
        #expect(due == Int64(JournalLimits.longestWaitDays) * 86_400_000)
        await journal.close()
    }

    @Test(
        "Guarantee 6: of bad spool files 100 are kept aside, and all are counted",
        .limit("journal.aside"))
    func spoolAside() async throws {
        let fixture = try JournalFixture()
        let spool = fixture.folder.appending("spool")
        try FileManager.default.createDirectory(at: spool, withIntermediateDirectories: true)
        for number in 0..<105 {
            try Data("nonsense".utf8).write(to: spool.appendingPathComponent("\(number).json"))
        }
        let journal = try await fixture.open([EntryKind("kind")])
        #expect(journal.opening.spool.rejected.count == 105)
        #expect(try aside(fixture, "spool-").count == 100)
        #expect(try FileManager.default.contentsOfDirectory(atPath: spool.path).isEmpty)
        await journal.close()
    }

    @Test("Guarantee 6: of damaged databases the newest 8 are kept aside", .limit("journal.aside"))
    func databasesAside() async throws {
        let fixture = try JournalFixture()
        var moved: [String] = []
        for _ in 0..<10 {
            try Data(repeating: 0x58, count: 8_192).write(
                to: fixture.folder.appending("journal.sqlite"))
            let journal = try await fixture.open([EntryKind("kind")])
            moved.append(try #require(journal.opening.setAside).lastPathComponent)
            await journal.close()
            for suffix in ["-wal", "-shm"] {
                try? FileManager.default.removeItem(
                    at: fixture.folder.appending("journal.sqlite" + suffix))
            }
        }
        let databases = try aside(fixture, "journal-").filter { $0.hasSuffix(".sqlite") }
        #expect(databases.sorted() == Array(moved.suffix(8)))
    }

    private func aside(_ fixture: JournalFixture, _ prefix: String) throws -> [String] {
        let path = fixture.folder.appending("aside").path
        return try FileManager.default.contentsOfDirectory(atPath: path).filter {
            $0.hasPrefix(prefix)
        }
    }
}
