import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Dispatch")
struct DispatchTests {
    struct Refused: Error, CustomStringConvertible {
        var description: String { "no" }
    }

    @Test("Guarantee 2: the last condition releases the held entries, and no time has passed")
    func released() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([
            EntryKind("kind", requires: [.store, .ui], parallel: 9)
        ])
        let seen = Seen<String>()
        await journal.handle("kind") { seen.add($0.id.text) }
        try await journal.record([entry("a"), entry("b")])
        await journal.setReady(.store)
        #expect(seen.count == 0)
        await journal.setReady(.ui)
        try await eventually("both are dispatched") { seen.count == 2 }
        await journal.setNotReady(.ui)
        try await journal.record(entry("c"))
        #expect(seen.count == 2)
        await journal.setReady(.ui)
        try await eventually("the third is dispatched") { seen.count == 3 }
        await journal.close()
    }

    @Test(
        "Guarantee 2: a gate that closes while a batch is being written keeps its entries",
        arguments: [false, true])
    func closedMeanwhile(isInside: Bool) async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind", requires: [.ui])])
        let seen = Seen<String>()
        if isInside {
            await journal.handle("kind", inTransaction: { _, entry in seen.add(entry.id.text) })
        } else {
            await journal.handle("kind") { seen.add($0.id.text) }
        }
        try await journal.record(entry("a"))
        let (writing, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let write: Void = journal.write { _ in
            writing.signal()
            release.wait()
        }
        try await onThread { writing.wait() }
        await journal.setReady(.ui)  // the turn that takes the entry waits for the writer
        await journal.setNotReady(.ui)
        release.signal()
        try await write
        try await settle(journal)
        #expect(seen.count == 0)
        await journal.setReady(.ui)
        try await eventually("it is dispatched") { seen.all == ["a"] }
        await journal.close()
    }

    @Test(
        "Guarantee 3: an entry is finished when its handler has succeeded, and comes again when it throws",
        .limit("journal.attemptWaits")
    )
    func again() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        let seen = Seen<Int>()
        await journal.handle("kind") { entry in
            seen.add(entry.attempt)
            if entry.attempt < 3 { throw Refused() }
        }
        try await journal.record(entry("a"))
        try await eventually("the first attempt") { seen.all == [1] }
        try await eventually("the retry is written down") {
            try await journal.entry(EntryID("a"))?.reason == "no"
        }
        try await elapse(fixture.time, until: { seen.count == 2 })
        try await elapse(fixture.time, until: { seen.count == 3 })
        try await eventually("it has ended") {
            try await journal.entry(EntryID("a"))?.state == .finished(.applied)
        }
        #expect(seen.all == [1, 2, 3])
        await journal.close()
    }

    @Test(
        "Guarantee 3: after the limit it is a dead letter that can be listed, retried and discarded",
        .limit("journal.attempts")
    )
    func deadLetter() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind", attemptLimit: 2)])
        let seen = Seen<Int>()
        let isMended = Atomic(false)
        await journal.handle("kind") { entry in
            seen.add(entry.attempt)
            if !isMended.load(ordering: .relaxed) { throw Refused() }
        }
        try await journal.record([entry("a"), entry("b")])
        try await elapse(fixture.time, until: { try await journal.deadLetters().count == 2 })
        #expect(seen.all.sorted() == [1, 1, 2, 2])
        let letters = try await journal.deadLetters()
        #expect(letters.map(\.id.text) == ["a", "b"])
        #expect(letters.map(\.reason) == ["no", "no"])
        #expect(try await journal.deadLetters(after: EntryID("a")).map(\.id.text) == ["b"])
        isMended.store(true, ordering: .relaxed)
        try await journal.retry(EntryID("a"))
        try await eventually("the retried one is applied") {
            try await journal.entry(EntryID("a"))?.state == .finished(.applied)
        }
        try await journal.discard(EntryID("b"))
        #expect(try await journal.deadLetters().isEmpty)
        await expectError(.noSuchEntry) {
            try await journal.retry(EntryID("b"))
        }
        #expect(try await journal.record(entry("b")) == .duplicate)
        let ledger = try await journal.ledger()
        #expect(ledger.outcomes[.applied] == 1)
        #expect(ledger.outcomes[.dead] == 1)
        #expect(ledger.isBalanced)
        await journal.close()
    }

    @Test("A handler can end an entry at once, name its own wait, or return it")
    func advice() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind", attemptLimit: 2, parallel: 3)])
        let seen = Seen<String>()
        await journal.handle("kind") { entry in
            seen.add(entry.id.text)
            switch (entry.id.text, entry.attempt) {
            case ("permanent", _): throw DispatchFailure.permanent("refused")
            case ("later", 1): throw DispatchFailure.retry(after: .seconds(3_000), "429")
            case ("lost", 1...5): throw DispatchFailure.notReady("the connection died")
            default: return
            }
        }
        try await journal.record([entry("permanent"), entry("later"), entry("lost")])
        try await eventually("the refused one is dead") {
            try await journal.deadLetters().map(\.reason) == ["refused"]
        }
        try await elapse(
            fixture.time, until: { seen.all.count { $0 == "lost" } == 6 }, by: .seconds(1))
        #expect(seen.all.count { $0 == "later" } == 1)
        fixture.time.advance(by: .seconds(3_000))
        try await eventually("the others are applied") {
            try await journal.ledger().outcomes[.applied] == 2
        }
        #expect(seen.all.count { $0 == "later" } == 2)
        await journal.close()
    }

    @Test(
        "Entries of a partition key are dispatched in the order recorded, each after the one before has ended"
    )
    func partitionKey() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind", parallel: 8)])
        let seen = Seen<String>()
        await journal.handle("kind") { entry in
            seen.add("\(entry.id):\(entry.attempt)")
            if entry.id.text == "a-2", entry.attempt == 1 { throw Refused() }
        }
        try await journal.record((1...4).map { try entry("a-\($0)", partitionKey: "a") })
        try await journal.record((1...2).map { try entry("b-\($0)", partitionKey: "b") })
        try await eventually("the partition key stops at the one that failed, the other goes on") {
            seen.count == 4
        }
        #expect(seen.all.filter { $0.hasPrefix("a") } == ["a-1:1", "a-2:1"])
        try await elapse(fixture.time, until: { seen.count == 7 })
        #expect(
            seen.all.filter { $0.hasPrefix("a") } == ["a-1:1", "a-2:1", "a-2:2", "a-3:1", "a-4:1"])
        #expect(seen.all.filter { $0.hasPrefix("b") } == ["b-1:1", "b-2:1"])
        await journal.close()
    }

    @Test("Guarantee 6: no more are in flight at the same time than the kind declares")
    func parallel() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind", parallel: 3)])
        let running = Atomic(0)
        let most = Atomic(0)
        await journal.handle("kind") { _ in
            let now = running.add(1, ordering: .sequentiallyConsistent).newValue
            most.max(now, ordering: .sequentiallyConsistent)
            try await Task.sleep(for: .milliseconds(1))
            running.subtract(1, ordering: .sequentiallyConsistent)
        }
        try await journal.record((0..<60).map { try entry("id-\($0)") })
        try await eventually("all are applied") {
            try await journal.ledger().outcomes[.applied] == 60
        }
        #expect(most.load(ordering: .relaxed) == 3)
        await journal.close()
    }

    @Test("A delayed entry is not dispatched before its time, and then at once")
    func delayed() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        let seen = Seen<String>()
        await journal.handle("kind") { seen.add($0.id.text) }
        try await journal.record([entry("late", delay: .seconds(60)), entry("early")])
        try await eventually("the other is dispatched") { seen.all == ["early"] }
        fixture.time.advance(by: .seconds(59))
        try await settle(journal)
        #expect(seen.all == ["early"])
        fixture.time.advance(by: .seconds(1))
        try await eventually("its time has come") { seen.all == ["early", "late"] }
        await journal.close()
    }

    @Test(
        "Guarantee 2: at the bound a held entry ends as expired, or is dispatched, as its kind declares"
    )
    func bounds() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([
            EntryKind("expire", requires: [.ui], bound: .init(after: .seconds(60), then: .expire)),
            EntryKind(
                "deliver", requires: [.ui], bound: .init(after: .seconds(60), then: .deliver)),
            EntryKind("hold", requires: [.ui]),
        ])
        let seen = Seen<String>()
        for kind in ["expire", "deliver", "hold"] {
            await journal.handle(kind) { seen.add($0.kind) }
        }
        try await journal.record([entry("a", "expire"), entry("b", "deliver"), entry("c", "hold")])
        fixture.time.advance(by: .seconds(59))
        try await settle(journal)
        #expect(seen.count == 0)
        fixture.time.advance(by: .seconds(1))
        try await eventually("the bound was acted on") {
            try await journal.ledger().pending == 1
        }
        #expect(seen.all == ["deliver"])
        let ledger = try await journal.ledger()
        #expect(ledger.outcomes[.expired] == 1)
        #expect(ledger.outcomes[.applied] == 1)
        #expect(ledger.isBalanced)
        await journal.close()
    }

    @Test("An entry past its bound expires even if its gate opens in the same moment")
    func boundBeforeGate() async throws {
        let fixture = try JournalFixture()
        let kind = EntryKind(
            "kind", requires: [.ui], bound: .init(after: .seconds(60), then: .expire))
        let first = try await fixture.open([kind])
        try await first.record(entry("a"))
        await first.close()
        fixture.time.advance(by: .seconds(61))
        let second = try await fixture.open([kind])
        let seen = Seen<String>()
        await second.setReady(.ui)
        await second.handle("kind") { seen.add($0.id.text) }
        try await eventually("it has expired") {
            try await second.ledger().outcomes[.expired] == 1
        }
        #expect(seen.count == 0)
        await second.close()
    }

    @Test(
        "Guarantee 4: an effect in the journal's transaction is undone with a throw, and is there once"
    )
    func inTransaction() async throws {
        let fixture = try JournalFixture()
        let sink = JournalSchema(
            name: "sink",
            migrations: [{ db in try db.execute(sql: "CREATE TABLE sinkEffect (id TEXT)") }])
        let journal = try await fixture.open([EntryKind("kind")], schemas: [sink])
        await journal.handle("kind") { db, entry in
            try db.execute(sql: "INSERT INTO sinkEffect VALUES (?)", arguments: [entry.id.text])
            if entry.id.text == "id-7", entry.attempt < 3 { throw Refused() }
            if entry.id.text == "id-8" { throw DispatchFailure.permanent("never") }
        }
        try await journal.record((0..<600).map { try entry("id-\($0)") })
        try await elapse(
            fixture.time, until: { try await journal.ledger().pending == 0 }, by: .seconds(3))
        let effects = try await journal.read { db in
            try String.fetchAll(db, sql: "SELECT id FROM sinkEffect")
        }
        #expect(effects.count == 599)
        #expect(Set(effects).count == 599)
        #expect(try await journal.entry(EntryID("id-7"))?.attempt == 3)
        #expect(try await journal.deadLetters().map(\.id.text) == ["id-8"])
        #expect(try await journal.ledger().isBalanced)
        await journal.close()
    }

    @Test("An entry recorded by a handler in its transaction is there exactly when the effect is")
    func chained() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("first"), EntryKind("second")])
        let seen = Seen<String>()
        await journal.handle("second") { seen.add($0.id.text) }
        await journal.handle("first") { [weak journal] db, entry in
            try journal?.record(
                NewEntry(id: try EntryID("\(entry.id)-next"), kind: "second", payload: []), in: db)
            if entry.attempt == 1 { throw Refused() }
        }
        try await journal.record(entry("a", "first"))
        try await elapse(fixture.time, until: { seen.count == 1 })
        #expect(seen.all == ["a-next"])
        #expect(try await journal.ledger().accepted == 2)
        await journal.close()
    }

    @Test("Guarantee 4: an app that knows its effects by id is asked before a second dispatch")
    func isApplied() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        let effects = Seen<String>()
        await journal.handle("kind", isApplied: { effects.all.contains($0.text) }) { entry in
            effects.add(entry.id.text)
            throw Refused()  // after the effect
        }
        try await journal.record(entry("a"))
        try await elapse(
            fixture.time, until: { try await journal.ledger().outcomes[.applied] == 1 })
        #expect(effects.all == ["a"])
        #expect(try await journal.entry(EntryID("a"))?.attempt == 1)
        await journal.close()
    }

    @Test(
        "A feature can end waiting entries, and the partition key moves on; it cannot end entries in flight"
    )
    func ended() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        let (started, held) = (Seen<String>(), Seen<CheckedContinuation<Void, Never>>())
        await journal.handle("kind") { entry in
            started.add(entry.id.text)
            if entry.id.text == "a" { await withCheckedContinuation { held.add($0) } }
        }
        try await journal.record(["a", "b", "c"].map { try entry($0, partitionKey: "lane") })
        try await eventually("the first is in flight") { held.count == 1 }
        let ended = try await journal.write { db in
            [
                try journal.end(EntryID("a"), as: .superseded, in: db),
                try journal.end(EntryID("b"), as: .superseded, reason: "newer", in: db),
                try journal.end(EntryID("x"), as: .superseded, in: db),
            ]
        }
        #expect(ended == [false, true, false])
        for continuation in held.all { continuation.resume() }
        try await eventually("the third has its turn") {
            try await journal.ledger().outcomes[.applied] == 2
        }
        #expect(started.all == ["a", "c"])
        #expect(try await journal.entry(EntryID("b"))?.reason == "newer")
        #expect(try await journal.ledger().outcomes[.superseded] == 1)
        #expect(try await journal.ledger().isBalanced)
        await journal.close()
    }

    @Test("Closing returns the entries in flight, and they come again at the next opening")
    func closing() async throws {
        let fixture = try JournalFixture()
        let kinds = [EntryKind("again"), EntryKind("never", onInterruption: .never)]
        let first = try await fixture.open(kinds)
        let (started, deaf) = (Seen<String>(), Seen<CheckedContinuation<Void, Never>>())
        for kind in kinds.map(\.name) {
            await first.handle(kind) { entry in
                started.add(entry.kind)
                await withCheckedContinuation { deaf.add($0) }  // hears no cancellation
            }
        }
        try await first.record([entry("a", "again"), entry("b", "never")])
        try await eventually("both are in flight") { started.count == 2 && deaf.count == 2 }
        await first.close()
        for continuation in deaf.all { continuation.resume() }

        let second = try await fixture.open(kinds)
        let seen = Seen<Int>()
        await second.handle("never") { _ in Issue.record("never again") }
        await second.handle("again") { seen.add($0.attempt) }
        try await eventually("it comes again") { seen.all == [2] }
        try await eventually("the ledger knows that nobody knows") {
            let ledger = try await second.ledger()
            return ledger.outcomes[.unconfirmed] == 1 && ledger.outcomes[.applied] == 1
                && ledger.isBalanced
        }
        await second.close()
    }

    @Test("Guarantee 6: a backlog of many entries is dispatched in pages")
    func backlog() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind", requires: [.ui], parallel: 50)])
        let seen = Seen<String>()
        await journal.handle("kind") { seen.add($0.id.text) }
        let ids = (0..<3_000).map { "id-\($0)" }
        try await journal.record(ids.map { try entry($0) })
        await journal.setReady(.ui)
        try await eventually("all are applied") { try await journal.ledger().pending == 0 }
        #expect(Set(seen.all) == Set(ids))
        #expect(seen.count == ids.count)
        await journal.close()
    }

    @Test(
        "Entries finished longer ago than the retention are removed, and the ledger still counts them",
        .limit("journal.retention"))
    func retention() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        await journal.handle("kind") { entry in
            if entry.id.text == "dead" { throw DispatchFailure.permanent("no") }
        }
        try await journal.record([entry("a"), entry("b"), entry("dead")])
        try await eventually("all have ended") { try await journal.ledger().pending == 0 }
        fixture.time.advance(by: .seconds(6 * 86_400))
        try await settle(journal)
        #expect(try await journal.record(entry("a")) == .duplicate)
        fixture.time.advance(by: .seconds(86_400 + 3_600))
        try await eventually("the rows have left") {
            try await journal.read { db in
                try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM entry")
            } == 0
        }
        let ledger = try await journal.ledger()
        #expect(ledger.accepted == 3)
        #expect(ledger.outcomes[.applied] == 2)
        #expect(ledger.outcomes[.dead] == 1)
        #expect(ledger.isBalanced)
        await journal.close()
    }

    /// Moves the clocks in steps until a condition holds.
    private func elapse(
        _ time: ManualClock, until condition: () async throws -> Bool,
        by step: Duration = .seconds(1), sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await eventually("what time brings", sourceLocation: sourceLocation) {
            if try await condition() { return true }
            time.advance(by: step)
            return false
        }
    }

    /// Lets everything that the clocks have woken go through the writer.
    private func settle(_ journal: Journal) async throws {
        for _ in 0..<20 {
            await Task.yield()
            try await journal.write { _ in }
        }
    }
}
