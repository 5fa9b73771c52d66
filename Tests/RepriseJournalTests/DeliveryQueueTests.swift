import Dispatch
import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Writes of features with the end of an entry")
struct DeliveryQueueTests {
    @Test("A write alongside another attempt is durable with it, and its callback runs once")
    func again() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind", attemptLimit: .max)])
        let (taken, written) = (Seen<Int>(), Seen<Int>())
        journal.handleBatches(of: "kind") { batch in
            for delivery in batch {
                let attempt = delivery.entry.attempt
                taken.add(attempt)
                guard attempt == 1 else {
                    delivery.end(as: .applied, written: { written.add(attempt) })
                    continue
                }
                delivery.end(
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
        fixture.time.advance(by: .seconds(6))
        try await eventually("the second is written") { written.all == [1, 2] }
        await journal.close()
    }

    @Test("What a batch is writing while the journal is closed is not written once more")
    func closedMeanwhile() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        let (deliveries, writes) = (Seen<EntryDelivery>(), Seen<Int>())
        journal.handleBatches(of: "kind") { batch in
            for delivery in batch { deliveries.add(delivery) }
        }
        try await journal.record(entry("a"))
        try await eventually("it is dispatched") { deliveries.count == 1 }
        let (reached, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        deliveries.all[0].end(alongside: { _ in
            writes.add(writes.count)
            guard writes.count == 1 else { return }
            reached.signal()
            _ = goOn.wait(timeout: .now() + 20)
        })
        try await eventually("the turn is under way") { reached.wait(timeout: .now()) == .success }
        let closing = Task { await journal.close() }
        // Its two waits are over at once: it has given up waiting for the turn.
        try await Task.sleep(for: .milliseconds(50))
        goOn.signal()
        await closing.value
        #expect(writes.count == 1)
    }

    @Test("An entry that goes back because its gate closes comes before entries taken just then")
    func order() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind", requires: [.ui], parallel: 2)])
        let deliveries = Seen<EntryDelivery>()
        journal.handleBatches(of: "kind") { batch in
            for delivery in batch { deliveries.add(delivery) }
        }
        for id in ["x", "a", "b"] { try await journal.record(entry(id)) }
        await journal.setReady(.ui)
        try await eventually("two are dispatched") { deliveries.count == 2 }
        // The turn that ends the first takes the third, and takes its time.
        let (reached, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        deliveries.all[0].end(alongside: { _ in
            reached.signal()
            _ = goOn.wait(timeout: .now() + 20)
        })
        try await eventually("the turn is under way") { reached.wait(timeout: .now()) == .success }
        await journal.setNotReady(.ui)
        deliveries.all[1].end(as: .back(reason: "The page is gone."))
        await journal.setReady(.ui)
        goOn.signal()
        try await eventually("both are dispatched") { deliveries.count == 4 }
        #expect(deliveries.all.map(\.entry.id.text) == ["x", "a", "a", "b"])
        #expect(deliveries.all.map(\.entry.attempt) == [1, 1, 2, 1])
        await journal.close()
    }

    @Test(
        "An entry says whether older ones may wait: released by its bound, or its gate has closed since"
    )
    func released() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([
            EntryKind(
                "kind", requires: [.ui],
                bound: .init(after: .seconds(1), then: .deliver), parallel: 2)
        ])
        let deliveries = Seen<EntryDelivery>()
        journal.handleBatches(of: "kind") { batch in
            for delivery in batch { deliveries.add(delivery) }
        }
        try await journal.record(entry("a"))
        fixture.time.advance(by: .seconds(2))
        try await eventually("it comes") { deliveries.count == 1 }
        await journal.setReady(.ui)
        try await journal.record(entry("b"))
        try await eventually("the other comes") { deliveries.count == 2 }
        #expect(deliveries.all.map(\.mayOvertake) == [true, false])
        await journal.setNotReady(.ui)
        await journal.setReady(.ui)
        #expect(deliveries.all[1].mayOvertake)
        await journal.close()
    }

    @Test("A feature is notified of recorded entries, also of delayed ones, and of openings")
    func news() async throws {
        let fixture = try JournalFixture()
        let journal = try await fixture.open([EntryKind("kind")])
        let seen = Seen<JournalEvent>()
        journal.observe { seen.add($0) }
        #expect(!journal.isOpen(.session))
        await journal.setReady(.session)
        #expect(journal.isOpen(.session))
        try await journal.record(entry("a", delay: .seconds(60)))
        try await eventually("both are heard") {
            seen.all == [.opened(.session), .recorded(["kind": 1])]
        }
        await journal.close()
    }
}
