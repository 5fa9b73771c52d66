import Dispatch
import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTesting
import Synchronization
import Testing

@Suite("What doors write with the end of an entry")
struct LentTests {
    @Test("What is written alongside another attempt is durable with it, and is told once")
    func again() async throws {
        let desk = try Desk()
        let journal = try await desk.open([EntryKind("kind", attemptLimit: .max)])
        let (taken, written) = (Seen<Int>(), Seen<Int>())
        journal.handleBatches(of: "kind") { batch in
            for lent in batch {
                let attempt = lent.entry.attempt
                taken.add(attempt)
                guard attempt == 1 else {
                    lent.end(as: .applied, written: { written.add(attempt) })
                    continue
                }
                lent.end(
                    as: .again(after: .seconds(5), reason: "later"),
                    alongside: { db in
                        let other = NewEntry(
                            id: try EntryID("other"), kind: "kind", payload: [],
                            delay: .seconds(1_000))
                        try journal.record(other, in: db)
                    }, written: { written.add(attempt) })
            }
        }
        try await journal.record(entry("a"))
        try await eventually("the first is written") { written.all == [1] }
        #expect(try await journal.entry(EntryID("other")) != nil)
        #expect(taken.all == [1])
        desk.time.advance(by: .seconds(6))
        try await eventually("the second is written") { written.all == [1, 2] }
        await journal.close()
    }

    @Test("What goes back for a gate that closes comes before what was taken just then")
    func order() async throws {
        let desk = try Desk()
        let journal = try await desk.open([EntryKind("kind", requires: [.ui], parallel: 2)])
        let lents = Seen<Lent>()
        journal.handleBatches(of: "kind") { batch in for lent in batch { lents.add(lent) } }
        for id in ["x", "a", "b"] { try await journal.record(entry(id)) }
        await journal.open(.ui)
        try await eventually("two are handed over") { lents.count == 2 }
        // The turn that ends the first takes the third, and takes its time.
        let (reached, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        lents.all[0].end(alongside: { _ in
            reached.signal()
            _ = goOn.wait(timeout: .now() + 20)
        })
        try await eventually("the turn is under way") { reached.wait(timeout: .now()) == .success }
        await journal.close(.ui)
        lents.all[1].end(as: .back(reason: "The page is gone."))
        await journal.open(.ui)
        goOn.signal()
        try await eventually("both are handed over") { lents.count == 4 }
        #expect(lents.all.map(\.entry.id.text) == ["x", "a", "a", "b"])
        #expect(lents.all.map(\.entry.attempt) == [1, 1, 2, 1])
        await journal.close()
    }

    @Test("What comes behind a closed gate because its time is up says so")
    func released() async throws {
        let desk = try Desk()
        let journal = try await desk.open([
            EntryKind(
                "kind", requires: [.ui],
                bound: .init(after: .seconds(1), then: .deliver), parallel: 2)
        ])
        let lents = Seen<Lent>()
        journal.handleBatches(of: "kind") { batch in for lent in batch { lents.add(lent) } }
        try await journal.record(entry("a"))
        desk.time.advance(by: .seconds(2))
        try await eventually("it comes") { lents.count == 1 }
        await journal.open(.ui)
        try await journal.record(entry("b"))
        try await eventually("the other comes") { lents.count == 2 }
        #expect(lents.all.map(\.isReleased) == [true, false])
        await journal.close()
    }

    @Test("A door hears what is recorded, also what waits for its time, and what is opened")
    func news() async throws {
        let desk = try Desk()
        let journal = try await desk.open([EntryKind("kind")])
        let seen = Seen<JournalNews>()
        journal.observe { seen.add($0) }
        #expect(!journal.isOpen(.session))
        await journal.open(.session)
        #expect(journal.isOpen(.session))
        try await journal.record(entry("a", delay: .seconds(60)))
        try await eventually("both are heard") {
            seen.all == [.opened(.session), .recorded(["kind": 1])]
        }
        await journal.close()
    }
}
