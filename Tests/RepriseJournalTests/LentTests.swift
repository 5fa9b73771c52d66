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
