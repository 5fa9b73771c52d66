import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Spool and mirror")
struct SpoolTests {
    private let kinds = [EntryKind("kind")]

    private func files(_ fixture: JournalFixture, _ folder: String = "spool") -> [String] {
        let found = try? FileManager.default.contentsOfDirectory(
            atPath: fixture.folder.appending(folder).path)
        return (found ?? []).sorted()
    }

    @Test(
        "Guarantee 1: an extension's spool files are merged in the order recorded, and removed"
    )
    func merged() async throws {
        let fixture = try JournalFixture()
        let spool = Spool(at: fixture.folder.url, timekeeper: fixture.time)
        for number in 1...100 {
            var new = try entry("id-\(number)", partitionKey: "lane")
            new.source = "extension"
            try spool.record(new)
            fixture.time.advance(by: .milliseconds(1))
        }
        #expect(files(fixture).count == 100)
        let journal = try await fixture.open(kinds)
        #expect(journal.opening.spool.accepted == 100)
        #expect(files(fixture).isEmpty)
        let seen = Seen<String>()
        await journal.handle("kind") { seen.add($0.id.text) }
        try await eventually("all are dispatched") { seen.count == 100 }
        #expect(seen.all == (1...100).map { "id-\($0)" })
        let found = try #require(try await journal.entry(EntryID("id-1")))
        #expect(found.source == "extension")
        #expect(found.payload == Array("id-1".utf8))
        #expect(found.recordedAt.milliseconds == 1_800_000_000_000)
        await journal.close()
    }

    @Test("A file that comes while the spool is merged after a disk failure is merged, too")
    func refilledAgain() async throws {
        let (refill, clock, merges) = (SpoolRefill(), ManualClock(), Seen<Int>())
        refill.start(clock) {
            merges.add(merges.count)
            if merges.count == 1 { refill.start(clock) { true } }
            return true
        }
        try await eventually("it is merged twice") {
            clock.advance(by: .seconds(1))
            return merges.count == 2
        }
        refill.stop()
    }

    @Test("An id that came by the spool and by another path is one entry")
    func duplicate() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open(kinds)
        try await journal.record(entry("a"))
        try Spool(at: fixture.folder.url).record(entry("a"))
        let report = try await journal.mergeSpool()
        #expect(report.duplicates == 1)
        #expect(try await journal.ledger().accepted == 1)
        #expect(try await journal.ledger().duplicates == 1)
        #expect(try await journal.mergeSpool() == SpoolReport())
        await journal.close()
    }

    @Test(
        "A file that is there again after its merge is not recorded again, not even as a duplicate")
    func removedLate() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open(kinds)
        try Spool(at: fixture.folder.url).record(entry("a"))
        let name = try #require(files(fixture).first)
        let file = fixture.folder.appending("spool/\(name)")
        let bytes = try Data(contentsOf: file)
        try await journal.mergeSpool()
        // As a kill between the commit and the removal leaves it.
        try bytes.write(to: file)
        try await journal.write { db in
            try db.execute(sql: "INSERT INTO spooled VALUES (?)", arguments: [name])
        }
        let report = try await journal.mergeSpool()
        #expect(report == SpoolReport())
        #expect(files(fixture).isEmpty)
        #expect(try await journal.ledger().duplicates == 0)
        await journal.close()
    }

    @Test("Bad files are moved aside with a reason and never block the rest")
    func bad() async throws {
        let fixture = try JournalFixture()
        let spool = Spool(at: fixture.folder.url)
        try spool.record(entry("before"))
        let folder = fixture.folder.appending("spool")
        let valid =
            #"{"version":1,"id":"x","kind":"kind","source":"s","payload":"","recordedAt":0}"#
        let contents = [
            // Foundation's decoder traps on it.
            "0-deep": "\n" + String(repeating: "[", count: 600),
            "0-empty": "", "0-half": #"{"version":1,"id":"#, "0-text": "hello\u{0}",
            "0-id": valid.replacing(#""id":"x""#, with: #""id":"a b""#),
            "0-kind": valid.replacing(#""kind":"kind""#, with: #""kind":"other""#),
            "0-newer": valid.replacing(#""version":1"#, with: #""version":2"#),
            "0-large": valid.replacing(
                #""payload":"""#,
                with: #""payload":"\#(String(repeating: "AAAA", count: 100_000))""#),
            "0-huge": String(repeating: " ", count: JournalLimits.spoolFileBytes + 1),
        ]
        for (name, text) in contents {
            try Data(text.utf8).write(to: folder.appendingPathComponent(name))
        }
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("0-folder"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: folder.appendingPathComponent("0-link").path,
            withDestinationPath: "/etc/passwd")
        try Data("half".utf8).write(to: folder.appendingPathComponent(".tmp-half"))
        try spool.record(entry("after"))

        let journal = try await fixture.open(kinds)
        let report = journal.opening.spool
        #expect(report.accepted == 2)
        #expect(Set(report.rejected.map(\.name)) == Set(contents.keys + ["0-folder", "0-link"]))
        #expect(report.rejected.allSatisfy { !$0.reason.isEmpty })
        #expect(files(fixture) == [".tmp-half"])
        #expect(files(fixture, "aside").count == report.rejected.count)
        let counted = try await journal.read { db in
            try Int.fetchOne(db, sql: "SELECT rejected FROM journal")
        }
        #expect(counted == report.rejected.count)
        #expect(try await journal.ledger().isBalanced)
        await journal.close()
    }

    @Test("A bad file is moved aside whatever its name is, and whatever lies there already")
    func badNames() async throws {
        let fixture = try JournalFixture()
        try Spool(at: fixture.folder.url).record(entry("good"))
        let long = "0-" + String(repeating: "é", count: 126)
        let folder = fixture.folder.appending("spool")
        let journal = try await fixture.open(kinds)
        for round in 1...2 {
            try Data("bad".utf8).write(to: folder.appendingPathComponent(long))
            // A folder cannot take the place of one that is not empty.
            try FileManager.default.createDirectory(
                at: folder.appendingPathComponent("1-folder/inside"),
                withIntermediateDirectories: true)
            try Spool(at: fixture.folder.url).record(entry("good-\(round)"))
            let report = try await journal.mergeSpool()
            #expect(report.accepted == 1)
            #expect(report.rejected.map(\.name) == [long, "1-folder"])
            #expect(files(fixture).isEmpty)
            #expect(files(fixture, "aside").count == 2 * round)
        }
        await journal.close()
    }

    @Test("A name that SQLite would cut at its NUL is refused")
    func zeroBytes() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open(kinds)
        var source = try entry("a")
        source.source = "a\u{0}b"
        let partitionKey = try entry("b", partitionKey: "a\u{0}b")
        for new in [source, partitionKey] {
            expectError(.malformed) {
                try Spool(at: fixture.folder.url).record(new)
            }
            await expectError(.malformed) { try await journal.record(new) }
        }
        let record =
            #"{"version":1,"id":"x","kind":"kind","source":"a\u0000","payload":"","recordedAt":0}"#
        let folder = fixture.folder.appending("spool")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(record.utf8).write(to: folder.appendingPathComponent("0"))
        #expect(try await journal.mergeSpool().rejected.map(\.name) == ["0"])
        await journal.close()
    }

    @Test("A half-written file stays while its writer may be running, and is removed after an hour")
    func halfWritten() async throws {
        let fixture = try JournalFixture()
        try Spool(at: fixture.folder.url).record(entry("a"))
        let names = ["spool/.tmp-new", "spool/.tmp-old", ".tmp-old", "owner.lock.old"]
        for name in names { try Data("x".utf8).write(to: fixture.folder.appending(name)) }
        for name in names where name.hasSuffix("old") {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -3_700)],
                ofItemAtPath: fixture.folder.appending(name).path)
        }
        let journal = try await fixture.open(kinds)
        #expect(files(fixture) == [".tmp-new"])
        #expect(!files(fixture, "").contains { $0.hasSuffix("old") })
        await journal.close()
    }

    @Test(
        "Guarantee 6: a spool at its limit of files refuses, and a record that is too large too",
        .limit("journal.spool", "chains.commands"))
    func limits() throws {
        let fixture = try JournalFixture()
        let spool = Spool(at: fixture.folder.url)
        var large = try entry("a")
        large.payload = [UInt8](repeating: 0, count: JournalLimits.payloadBytes + 1)
        expectError(.tooLarge) { try spool.record(large) }
        large.payload.removeLast()
        try spool.record(large)
        for number in 1..<JournalLimits.spoolFiles {
            let file = fixture.folder.appending("spool/\(number).json")
            #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
        }
        expectError(.full) { try spool.record(entry("b")) }
    }

    @Test("A full journal leaves the rest of the spool where it is, and takes it later")
    func fullJournal() async throws {
        let fixture = try JournalFixture()
        let spool = Spool(at: fixture.folder.url)
        for number in 1...3 { try spool.record(entry("id-\(number)")) }
        var configuration = fixture.configuration
        configuration.pendingLimit = 2
        let journal = try await Journal.open(
            at: fixture.folder.url, kinds: [EntryKind("kind", requires: [.ui])],
            configuration: configuration)
        #expect(journal.opening.spool.stopped?.code == .full)
        #expect(files(fixture).count == 3)
        await journal.close()
        let larger = try await fixture.open(kinds)
        #expect(larger.opening.spool.accepted == 3)
        await larger.close()
    }

    @Test("Spool and mirror can be in a folder that is shared, and the journal stays in its own")
    func shared() async throws {
        let fixture = try JournalFixture()
        let shared = try TemporaryFolder()
        var configuration = fixture.configuration
        configuration.sharedFolder = shared.url
        try Spool(at: shared.url).record(entry("a"))
        let journal = try await Journal.open(
            at: fixture.folder.url, kinds: kinds, configuration: configuration)
        #expect(journal.opening.spool.accepted == 1)
        await journal.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: shared.url.path)
        #expect(names == ["spool"])
    }

    @Test("Beside a shared folder, what a tool has left in the journal's own is merged, once")
    func ownBesideShared() async throws {
        let fixture = try JournalFixture()
        let shared = try TemporaryFolder()
        var configuration = fixture.configuration
        configuration.sharedFolder = shared.url
        try Spool(at: shared.url).record(entry("extension"))
        try Spool(at: fixture.folder.url).record(entry("tool"))
        let journal = try await Journal.open(
            at: fixture.folder.url, kinds: kinds, configuration: configuration)
        #expect(journal.opening.spool.accepted == 2)
        #expect(files(fixture).isEmpty)

        try Spool(at: fixture.folder.url).record(entry("later"))
        let name = try #require(files(fixture).first)
        let file = fixture.folder.appending("spool/\(name)")
        let bytes = try Data(contentsOf: file)
        #expect(try await journal.mergeSpool().accepted == 1)
        // As a kill between the commit and the removal leaves it.
        try bytes.write(to: file)
        try await journal.write { db in
            try db.execute(sql: "INSERT INTO spooled VALUES (?)", arguments: [name])
        }
        #expect(try await journal.mergeSpool() == SpoolReport())

        try Data("bad".utf8).write(to: fixture.folder.appending("spool/0-bad"))
        #expect(try await journal.mergeSpool().rejected.map(\.name) == ["0-bad"])
        #expect(files(fixture, "aside") == ["spool-0-bad"])
        await journal.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: shared.url.path)
        #expect(names == ["spool"])
    }

    struct Mutes: Codable, Sendable, Equatable { var muted: [String] }

    @Test("A reader of the mirror sees the value before or the value after, never a half one")
    func mirror() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open(kinds)
        let mirror = Mirror<Mutes>(in: fixture.folder.url)
        #expect(try mirror.read() == nil)
        let path = mirror
        let values = (0...60).map { Mutes(muted: Array(repeating: "channel-\($0)", count: $0)) }
        try await journal.replace(mirror, with: values[0])
        let reader = Task.detached {
            var count = 0
            repeat {
                let found = try path.read()
                if let found { #expect(values.contains(found.value)) }
                count += 1
                await Task.yield()
            } while !Task.isCancelled
            return count
        }
        for value in values { try await journal.replace(mirror, with: value) }
        reader.cancel()
        #expect(try await reader.value > 0)
        #expect(try mirror.read()?.value == values.last)
        #expect(try mirror.read()?.writtenAt == fixture.time.wall().milliseconds)
        await journal.close()
    }

    @Test("A mirror that is too large, damaged or newer is a typed error", .limit("journal.mirror"))
    func badMirror() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open(kinds)
        let mirror = Mirror<String>(in: fixture.folder.url, version: 1)
        let large = String(repeating: "x", count: JournalLimits.mirrorBytes)
        await expectError(.tooLarge) {
            try await journal.replace(mirror, with: large)
        }
        try await journal.replace(Mirror<String>(in: fixture.folder.url, version: 2), with: "new")
        expectError(.journalNewer) { try mirror.read() }
        try Data("{".utf8).write(to: mirror.file)
        expectError(.malformed) { try mirror.read() }
        try await journal.replace(mirror, with: "good")
        #expect(try mirror.read()?.value == "good")
        await journal.close()
    }
}
