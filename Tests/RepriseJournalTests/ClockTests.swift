import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("A calendar that jumps")
struct ClockTests {
    private let kind = EntryKind(
        "kind", requires: [.ui], bound: .init(after: .seconds(3_600), then: .expire))

    private func turns(_ journal: Journal) async throws {
        for _ in 0..<20 {
            await Task.yield()
            try await journal.write { _ in }
        }
    }

    @Test("After a jump of years nothing expires until the server's time agrees")
    func forward() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([kind])
        try await journal.record(entry("a"))
        fixture.time.jumpWall(by: .seconds(10 * 365 * 86_400))
        try await turns(journal)
        fixture.time.advance(by: .seconds(7_200))
        try await turns(journal)
        #expect(try await journal.ledger().pending == 1)
        await journal.serverTimeReceived(fixture.time.wall())
        try await eventually("two hours have really passed") {
            try await journal.ledger().outcomes[.expired] == 1
        }
        await journal.close()
    }

    @Test("After a jump a wait keeps its length: neither does a delay end early nor last for ever")
    func delay() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("plain")])
        let seen = Seen<String>()
        await journal.handle("plain") { seen.add($0.id.text) }
        try await journal.record(entry("a", "plain", delay: .seconds(600)))
        fixture.time.jumpWall(by: .seconds(30 * 86_400))
        fixture.time.advance(by: .seconds(300))
        try await turns(journal)
        fixture.time.jumpWall(by: .seconds(-90 * 86_400))
        fixture.time.advance(by: .seconds(299))
        try await turns(journal)
        #expect(seen.count == 0)
        fixture.time.advance(by: .seconds(2))
        try await eventually("ten minutes have passed") { seen.count == 1 }
        await journal.close()
    }

    @Test("A calendar that is put right makes no entry older than it is")
    func age() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("plain", requires: [.ui])])
        let seen = Seen<Int64>()
        await journal.handle("plain") { seen.add($0.recordedAt.milliseconds) }
        fixture.time.jumpWall(by: .seconds(-3 * 365 * 86_400))
        try await journal.record(entry("a", "plain"))
        fixture.time.jumpWall(by: .seconds(3 * 365 * 86_400))
        await journal.setReady(.ui)
        try await eventually("it is dispatched") { seen.count == 1 }
        #expect(seen.all == [fixture.time.wall().milliseconds])
        await journal.close()
    }

    @Test(
        "A day of uptime restores trust, and an hourly look finds it out",
        .limit("journal.clockJump"))
    func uptime() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([kind])
        try await journal.record(entry("a"))
        fixture.time.jumpWall(by: .seconds(-2 * 86_400))
        try await turns(journal)
        for _ in 0..<23 {
            fixture.time.advance(by: .seconds(3_600))
            try await turns(journal)
        }
        #expect(try await journal.ledger().pending == 1)
        try await eventually("a day has passed") {
            fixture.time.advance(by: .seconds(3_600))
            return try await journal.ledger().outcomes[.expired] == 1
        }
        await journal.close()
    }

    @Test(
        "An idle owner follows a set calendar when it checks its ownership",
        .limit("journal.clocks"))
    func idle() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("plain")])
        let moves = Seen<Duration>()
        journal.observe { event in if case .calendarMoved(let step) = event { moves.add(step) } }
        try await journal.record(entry("a", "plain", delay: .seconds(600)))
        fixture.time.jumpWall(by: .seconds(59))
        try await turns(journal)
        fixture.time.jumpWall(by: .seconds(7_200))
        let watch = Task { try await journal.watchOwnership() }
        try await eventually("it is noticed") { moves.count == 1 }
        #expect(moves.all == [.seconds(7_200)])
        let due = try await journal.read { db in
            try Int64.fetchOne(db, sql: "SELECT due FROM entry")
        }
        #expect(
            due == fixture.time.wall().advanced(by: .seconds(600 - 59)).milliseconds)
        watch.cancel()
        _ = await watch.result
        await journal.close()
    }

    @Test("A row that has rotted keeps no other from following the calendar, and no journal shut")
    func rotten() async throws {
        let fixture = try JournalFixture()
        let first = try await fixture.open([EntryKind("plain")])
        try await first.record(entry("a", "plain", delay: .seconds(600)))
        try await first.record(entry("b", "plain", delay: .seconds(600)))
        await first.close()
        func alter(_ from: String, _ to: String) -> String {
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, '\(from)', '\(to)') WHERE name = 'entry';
            """
        }
        let (whole, lax) = ("failures INTEGER NOT NULL", "failures ANY")
        for sql in [
            alter(whole, lax), "UPDATE entry SET failures = 'rotten' WHERE id = 'b'",
            alter(lax, whole),
        ] { try fixture.sqlite(sql) }
        fixture.time.jumpWall(by: .seconds(7_200))
        let journal = try await fixture.open([EntryKind("plain")])
        let due = try await journal.read { db in
            try Int64.fetchOne(db, sql: "SELECT due FROM entry WHERE id = 'a'")
        }
        #expect(due == fixture.time.wall().advanced(by: .seconds(600)).milliseconds)
        await journal.close()
    }

    @Test(
        "A jump while no process had the journal open is found at the next opening of the same boot"
    )
    func closedMeanwhile() async throws {
        let fixture = try JournalFixture()
        let first = try await fixture.open([kind])
        try await first.record(entry("a"))
        await first.close()
        fixture.time.jumpWall(by: .seconds(400 * 86_400))
        let second = try await fixture.open([kind])
        try await turns(second)
        #expect(try await second.ledger().pending == 1)
        await second.close()
        // The doubt is remembered.
        let third = try await fixture.open([kind])
        fixture.time.advance(by: .seconds(7_200))
        try await turns(third)
        #expect(try await third.ledger().pending == 1)
        await third.serverTimeReceived(fixture.time.wall())
        try await eventually("it may expire now") {
            try await third.ledger().outcomes[.expired] == 1
        }
        await third.close()
    }

    @Test(
        "A device that starts with a dead battery's calendar neither expires nor holds for decades")
    func deadBattery() async throws {
        let fixture = try JournalFixture()
        let kinds = [kind, EntryKind("plain")]
        let first = try await fixture.open(kinds)
        try await first.record([entry("a"), entry("b", "plain", delay: .seconds(600))])
        await first.close()
        fixture.time.restart()
        fixture.time.jumpWall(by: .seconds(-20 * 365 * 86_400))
        let second = try await fixture.open(kinds)
        let seen = Seen<String>()
        await second.handle("plain") { seen.add($0.id.text) }
        fixture.time.advance(by: .seconds(60))
        fixture.time.jumpWall(by: .seconds(20 * 365 * 86_400))  // the network sets it right
        try await turns(second)
        fixture.time.advance(by: .seconds(500))
        try await turns(second)
        #expect(seen.count == 0)
        fixture.time.advance(by: .seconds(41))
        try await eventually("its ten minutes are over") { seen.count == 1 }
        try await eventually("the other is held and has not expired") {
            let ledger = try await second.ledger()
            return ledger.pending == 1 && ledger.outcomes[.applied] == 1
        }
        await second.close()
    }

    @Test("No entry is removed for its age while the calendar is in doubt")
    func retention() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("plain")])
        await journal.handle("plain") { _ in }
        try await journal.record(entry("a", "plain"))
        try await eventually("it is applied") { try await journal.ledger().pending == 0 }
        fixture.time.jumpWall(by: .seconds(400 * 86_400))
        for _ in 0..<3 {
            fixture.time.advance(by: .seconds(3_600))
            try await turns(journal)
        }
        #expect(try await journal.record(entry("a", "plain")) == .duplicate)
        await journal.serverTimeReceived(fixture.time.wall())
        try await turns(journal)
        #expect(try await journal.record(entry("a", "plain")) == .duplicate)
        await journal.close()
    }

    @Test(
        "An id is not forgotten for a jump that a restart hides, nor when the calendar is put right again"
    )
    func hiddenJump() async throws {
        let fixture = try JournalFixture()
        let first = try await fixture.open([EntryKind("plain")])
        await first.handle("plain") { _ in }
        try await first.record(entry("a", "plain"))
        try await eventually("it is applied") { try await first.ledger().pending == 0 }
        await first.close()
        fixture.time.jumpWall(by: .seconds(400 * 86_400))
        fixture.time.restart()
        let second = try await fixture.open([EntryKind("plain")])
        fixture.time.advance(by: .seconds(2 * 86_400))  // more than the day that is believed
        try await turns(second)
        #expect(try await second.record(entry("a", "plain")) == .duplicate)
        fixture.time.jumpWall(by: .seconds(-400 * 86_400))
        await second.serverTimeReceived(fixture.time.wall())
        try await turns(second)
        #expect(try await second.record(entry("a", "plain")) == .duplicate)
        fixture.time.advance(by: .seconds(6 * 86_400))
        try await turns(second)
        try await eventually("its seven days are over") {
            try await second.record(entry("a", "plain")) == .accepted
        }
        await second.close()
    }
}
