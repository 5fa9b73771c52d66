import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Ownership")
struct OwnershipTests {
    private let kinds = [EntryKind("held")]

    private func hold(_ fixture: JournalFixture) throws -> ChildProcess {
        try ChildProcess(.sibling("JournalWriter"), ["hold", fixture.folder.url.path])
    }

    @Test(
        "A second opening in the same process is refused while the first is open, and taken after")
    func secondInProcess() async throws {
        let fixture = try JournalFixture()
        let first = try await fixture.open(kinds)
        await expectError(.journalOwned) { try await fixture.open(kinds) }
        await first.close()
        let second = try await fixture.open(kinds)
        #expect(second.incarnation > first.incarnation)
        await second.close()
    }

    @Test("A second owner is refused and told the process that is the first")
    func secondOwner() async throws {
        let fixture = try JournalFixture()
        let owner = try hold(fixture)
        #expect(owner.readLine() == "open 1")
        do {
            _ = try await fixture.open(kinds)
            Issue.record("it was opened twice")
        } catch let error as RepriseError {
            #expect(error.code == .journalOwned)
            #expect(error.message.contains("\(owner.id)"))
        }
        owner.kill()
        let journal = try await fixture.open(kinds)
        #expect(journal.incarnation == 2)
        await journal.close()
    }

    @Test(
        "A reader whom SQLite lets wait for another process is told that it is busy, and what to do"
    )
    func keptWaiting() async throws {
        let fixture = try JournalFixture()
        await (try fixture.open(kinds)).close()
        for code in [ResultCode.SQLITE_BUSY, .SQLITE_PROTOCOL] {
            let error = try #require(throws: RepriseError.self) {
                try Journal.peek(at: fixture.folder.url, schemas: []) { _ -> Int in
                    throw DatabaseError(resultCode: code)
                }
            }
            #expect(error.code == .busy, "\(error)")
            #expect(error.remedy?.contains("end that process") == true)
        }
    }

    @Test("Guarantee 1: a frozen owner whose journal was taken over cannot commit when it wakes")
    func takeOver() async throws {
        let fixture = try JournalFixture()
        let owner = try hold(fixture)
        #expect(owner.readLine() == "open 1")
        owner.writeLine("early")
        #expect(owner.readLine() == "accepted early")
        var configuration = fixture.configuration
        configuration.takeOver = true
        configuration.busyTimeout = .milliseconds(100)
        var taken: Journal?
        while taken == nil {
            owner.signal(SIGSTOP)
            do {
                taken = try await Journal.open(
                    at: fixture.folder.url, kinds: kinds, configuration: configuration)
            } catch let error as RepriseError where error.code == .busy {
                owner.signal(SIGCONT)  // frozen inside a transaction: SQLite's own lock stands
            }
        }
        let journal = try #require(taken)
        owner.writeLine("late")
        try await journal.record(entry("ours", "held"))
        owner.signal(SIGCONT)
        #expect(owner.readLine() == "error ownershipLost")
        #expect(try await journal.entry(EntryID("early")) != nil)
        #expect(try await journal.entry(EntryID("late")) == nil)
        #expect(try await journal.ledger().accepted == 2)

        // The former owner going away does not open the door to a third.
        owner.closeInput()
        #expect(owner.wait() == .exit(0))
        await expectError(.journalOwned) { try await fixture.open(kinds) }
        try await journal.record(entry("still ours".replacing(" ", with: "-"), "held"))
        await journal.close()
    }

    @Test("A journal that was taken over dispatches nothing, writes no mirror and says why")
    func lost() async throws {
        let fixture = try JournalFixture()
        let first = try await fixture.open(kinds)
        let seen = Seen<String>()
        await first.handle("held") { seen.add($0.id.text) }
        var configuration = fixture.configuration
        configuration.takeOver = true
        let second = try await Journal.open(
            at: fixture.folder.url, kinds: kinds, configuration: configuration)
        let mirror = Mirror<Int>(in: fixture.folder.url)
        try await second.replace(mirror, with: 2)
        try await second.record(entry("a", "held"))
        await expectError(.ownershipLost) { try await first.record(entry("b", "held")) }
        await expectError(.ownershipLost) { try await first.write { _ in } }
        await expectError(.ownershipLost) { try await first.replace(mirror, with: 1) }
        try Spool(at: fixture.folder.url).record(entry("c", "held"))
        await expectError(.ownershipLost) { try await first.mergeSpool() }
        await expectError(.ownershipLost) { try await first.retry(EntryID("a")) }
        await first.setReady(.ui)
        await first.close()
        #expect(seen.count == 0)
        #expect(try mirror.read()?.value == 2)
        #expect(try await second.ledger().accepted == 1)
        await second.close()
    }

    @Test(
        "An entry that was ever interrupted is unconfirmed at its bound, not expired, though a later attempt failed"
    )
    func interruptedThenLate() async throws {
        let fixture = try JournalFixture()
        let kinds = [EntryKind("kind", bound: .init(after: .seconds(3_600), then: .expire))]
        let first = try await fixture.open(kinds)
        let started = Seen<String>()
        await first.handle("kind") { entry in
            started.add(entry.id.text)
            try await Task.sleep(for: .seconds(3_600))
        }
        try await first.record(entry("a"))
        try await eventually("it is in flight") { started.count == 1 }

        var configuration = fixture.configuration
        configuration.takeOver = true
        let second = try await Journal.open(
            at: fixture.folder.url, kinds: kinds, configuration: configuration)
        await second.handle("kind") { entry in
            started.add(entry.id.text)
            throw DispatchFailure.retry(after: .seconds(7_200), "Not now.")
        }
        try await eventually("the second attempt has failed") { started.count == 2 }
        try await eventually("that is written") {
            try await second.entry(EntryID("a"))?.reason == "Not now."
        }
        fixture.time.advance(by: .seconds(3_601))
        try await eventually("it has ended") { try await second.ledger().pending == 0 }
        let outcomes = try await second.ledger().outcomes
        #expect(outcomes[.unconfirmed] == 1 && outcomes[.expired] ?? 0 == 0, "\(outcomes)")
        await second.close()
        await first.close()
    }

    @Test(
        "Guarantee 4: an entry in flight when the owner died is pending again, unconfirmed, or known to be applied"
    )
    func interrupted() async throws {
        let fixture = try JournalFixture()
        let kinds = [
            EntryKind("again"), EntryKind("never", onInterruption: .never),
            EntryKind("asked", onInterruption: .never, parallel: 2),
        ]
        let first = try await fixture.open(kinds)
        let started = Seen<String>()
        for kind in kinds {
            await first.handle(kind.name) { entry in
                started.add(entry.id.text)
                try await Task.sleep(for: .seconds(3_600))
            }
        }
        try await first.record([
            entry("a", "again"), entry("n", "never"), entry("yes", "asked"), entry("no", "asked"),
        ])
        try await eventually("all are in flight") { started.count == 4 }

        var configuration = fixture.configuration
        configuration.takeOver = true
        let second = try await Journal.open(
            at: fixture.folder.url, kinds: kinds, configuration: configuration)
        #expect(second.opening.interrupted == 4)
        #expect(try await second.ledger().pending == 4)
        let seen = Seen<String>()
        await second.handle("again") { seen.add("\($0.id) \($0.attempt)") }
        await second.handle("never") { _ in seen.add("never") }
        await second.handle("asked", isApplied: { $0.text == "yes" }) { entry in
            seen.add("\(entry.id) \(entry.attempt)")
        }
        try await eventually("all have ended") { try await second.ledger().pending == 0 }
        #expect(seen.all.sorted() == ["a 2", "no 2"])
        let ledger = try await second.ledger()
        #expect(ledger.outcomes[.applied] == 3)
        #expect(ledger.outcomes[.unconfirmed] == 1)
        #expect(ledger.isBalanced)
        #expect(try await second.entry(EntryID("yes"))?.state == .finished(.applied))
        await second.close()
        await first.close()
    }

    @Test("A journal that is let go of without being closed gives its lock back")
    func letGo() async throws {
        let fixture = try JournalFixture()
        do {
            let journal = try await fixture.open(kinds)
            await journal.handle("held") { _ in }
            try await journal.record(entry("a", "held"))
        }
        try await eventually("the lock is free") {
            guard let journal = try? await fixture.open(kinds) else { return false }
            await journal.close()
            return true
        }
    }

    @Test("While another process holds SQLite's lock a write says busy, and all goes on after")
    func busy() async throws {
        let fixture = try JournalFixture()
        var configuration = fixture.configuration
        configuration.busyTimeout = .milliseconds(20)
        configuration.timekeeper = SystemTimekeeper()
        let journal = try await Journal.open(
            at: fixture.folder.url, kinds: kinds, configuration: configuration)
        try await journal.record(entry("a", "held"))
        let holding = try ChildProcess(
            .sibling("JournalWriter"), ["lock", fixture.folder.appending("journal.sqlite").path])
        #expect(holding.readLine() == "locked")
        await expectError(.busy) {
            try await journal.record(entry("b", "held"))
        }
        let seen = Seen<String>()
        await journal.handle("held") { seen.add($0.id.text) }
        holding.kill()
        try await eventually("what waits is dispatched") { seen.all == ["a"] }
        #expect(try await journal.record(entry("b", "held")) == .accepted)
        await journal.close()
    }

    @Test(
        "Guarantee 6: an entry whose process dies every time becomes a dead letter at a written limit",
        .limit("journal.interruptions", "chains.interruptions")
    )
    func poison() async throws {
        let fixture = try JournalFixture()
        var journal: Journal? = try await fixture.open([EntryKind("kind")])
        try await journal?.record(entry("a"))
        await journal?.close()
        try fixture.sqlite(
            """
            UPDATE entry SET state = 3, incarnation = 1, attempt = 49,
            interruptions = \(JournalLimits.interruptions - 2)
            """)
        journal = try await fixture.open([EntryKind("kind")])
        #expect(try await journal?.ledger().pending == 1)
        await journal?.close()
        try fixture.sqlite("UPDATE entry SET state = 3")
        journal = try await fixture.open([EntryKind("kind")])
        #expect(try await journal?.deadLetters().map(\.id.text) == ["a"])
        #expect(try await journal?.ledger().isBalanced == true)
        await journal?.close()
    }
}
