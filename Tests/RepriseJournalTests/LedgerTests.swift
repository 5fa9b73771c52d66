import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Ledger of a journal that another process owns")
struct LedgerTests {
    private struct Snapshot: Equatable {
        var sizes: [String: Int] = [:]
        var changed: [String: Date] = [:]

        init(_ folder: URL) throws {
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                let attributes = try FileManager.default.attributesOfItem(
                    atPath: folder.appendingPathComponent(name).path)
                sizes[name] = attributes[.size] as? Int
                changed[name] = attributes[.modificationDate] as? Date
            }
        }
    }

    @Test("Guarantee 5: the ledger of a running owner is read without a lock and without a write")
    func running() async throws {
        let fixture = try JournalFixture()
        let owner = try ChildProcess(
            .sibling("JournalWriter"), ["hold", fixture.folder.url.path])
        #expect(owner.readLine() == "open 1")
        for number in 1...5 {
            owner.writeLine("id-\(number)")
            #expect(owner.readLine() == "accepted id-\(number)")
            owner.signal(SIGSTOP)  // so that whatever changes is our doing
            try await eventually("it stands still") {
                let stat = try? String(contentsOfFile: "/proc/\(owner.id)/stat", encoding: .utf8)
                return stat?.contains(") T ") ?? true
            }
            let before = try Snapshot(fixture.folder.url)
            let ledger = try Journal.ledger(at: fixture.folder.url)
            #expect(ledger.accepted == Int64(number))
            #expect(ledger.pending == Int64(number))
            #expect(try Snapshot(fixture.folder.url) == before)
            owner.signal(SIGCONT)
        }
        owner.kill()

        // A killed owner: nobody has repaired anything yet, and we do not either.
        let before = try Snapshot(fixture.folder.url)
        #expect(try Journal.ledger(at: fixture.folder.url).accepted == 5)
        #expect(try Snapshot(fixture.folder.url) == before)
    }

    @Test("The ledger of a closed journal, and of a copy of its files, can be read")
    func closed() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        try await journal.record([entry("a"), entry("b")])
        let copy = try TemporaryFolder()
        for name in ["journal.sqlite", "journal.sqlite-wal"] {
            try FileManager.default.copyItem(
                at: fixture.folder.appending(name), to: copy.appending(name))
        }
        await journal.close()
        let before = try Snapshot(fixture.folder.url)
        #expect(try Journal.ledger(at: fixture.folder.url).accepted == 2)
        #expect(try Snapshot(fixture.folder.url) == before)

        let untouched = try Snapshot(copy.url)
        #expect(try Journal.ledger(at: copy.url).accepted == 2)
        #expect(try Snapshot(copy.url) == untouched)
        let alone = try TemporaryFolder()
        try FileManager.default.copyItem(
            at: fixture.folder.appending("journal.sqlite"), to: alone.appending("journal.sqlite"))
        #expect(try Journal.ledger(at: alone.url).accepted == 2)
    }

    @Test(
        "A reader that reads again and again while the owner writes sees sums that add up and only grow"
    )
    func meanwhile() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind", parallel: 8)])
        await journal.handle("kind") { _ in }
        let url = fixture.folder.url
        let reader = Task.detached {
            var last: Int64 = 0
            var count = 0
            while last < 2_000 {
                let ledger = try Journal.ledger(at: url)
                #expect(ledger.isBalanced)
                #expect(ledger.accepted >= last)
                last = ledger.accepted
                count += 1
                await Task.yield()
            }
            return count
        }
        for batch in 0..<200 {
            try await journal.record((0..<10).map { try entry("id-\(batch)-\($0)") })
        }
        #expect(try await reader.value > 0)
        await journal.close()
    }
}
