import RepriseCore
import RepriseJournal
import Testing

@Suite("The dispatch machine")
struct DispatchMachineTests {
    private func machine(_ kinds: EntryKind...) -> DispatchMachine {
        var machine = DispatchMachine(kinds: kinds)
        // The first turn looks at what is due; the tests begin behind it.
        #expect(machine.next(now: .zero) == .perform(DispatchBatch(looksAtDue: true)))
        machine.batchCommitted(DispatchBatchResult(), now: .zero)
        return machine
    }

    private func take(_ kind: String, _ limit: Int, onlyReleased: Bool = false)
        -> DispatchBatch.Take
    {
        DispatchBatch.Take(kind: kind, work: .effect, limit: limit, onlyReleased: onlyReleased)
    }

    private func acknowledgement(_ seq: Int64, partitionKey: String? = nil) -> Acknowledgement {
        Acknowledgement(seq: seq, kind: "kind", partitionKey: partitionKey, disposition: .applied)
    }

    private let idle = DispatchMachine.Action.wait(until: DispatchMachine.longestSleep)

    @Test("No entries are taken of a kind without a handler, or with a closed gate")
    func gate() {
        var machine = machine(EntryKind("kind", requires: [.ui], parallel: 3))
        #expect(machine.next(now: .zero) == idle)
        machine.handlerRegistered(kind: "kind", work: .effect)
        #expect(machine.next(now: .zero) == idle)
        machine.readinessOpened(.ui)
        #expect(machine.next(now: .zero) == .perform(DispatchBatch(takes: [take("kind", 3)])))
        machine.batchCommitted(DispatchBatchResult(), now: .zero)
        machine.readinessClosed(.ui)
        machine.workArrived(kinds: ["kind"], soonest: nil)
        #expect(machine.next(now: .zero) == idle)
    }

    @Test("Behind a closed gate only entries past their bound are taken")
    func released() {
        var machine = machine(
            EntryKind("kind", requires: [.ui], bound: .init(after: .seconds(1), then: .deliver)))
        machine.handlerRegistered(kind: "kind", work: .effect)
        #expect(
            machine.next(now: .zero)
                == .perform(DispatchBatch(takes: [take("kind", 1, onlyReleased: true)])))
    }

    @Test("Entries taken for a gate that has closed and opened again are taken anew, in order")
    func takenBefore() {
        var machine = machine(EntryKind("kind", requires: [.ui], parallel: 3))
        machine.handlerRegistered(kind: "kind", work: .effect)
        machine.readinessOpened(.ui)
        #expect(machine.next(now: .zero) == .perform(DispatchBatch(takes: [take("kind", 3)])))
        machine.readinessClosed(.ui)
        #expect(machine.next(now: .zero) == .none)
        machine.readinessOpened(.ui)
        machine.batchCommitted(DispatchBatchResult(taken: ["kind": 1]), now: .zero)
        #expect(!machine.mayStart(kind: "kind", isReleased: false))
        let back = Acknowledgement(
            seq: 1, kind: "kind", partitionKey: nil, disposition: .notStarted)
        machine.handlerEnded(back)
        #expect(
            machine.next(now: .zero)
                == .perform(DispatchBatch(acknowledgements: [back], takes: [take("kind", 3)])))
        machine.batchCommitted(DispatchBatchResult(taken: ["kind": 2]), now: .zero)
        #expect(machine.mayStart(kind: "kind", isReleased: false))
    }

    @Test("An entry past its bound starts behind a closed gate, and in order once the gate is open")
    func releasedBefore() {
        var machine = machine(
            EntryKind("kind", requires: [.ui], bound: .init(after: .seconds(1), then: .deliver)))
        machine.handlerRegistered(kind: "kind", work: .effect)
        _ = machine.next(now: .zero)
        machine.batchCommitted(DispatchBatchResult(taken: ["kind": 1]), now: .zero)
        #expect(machine.mayStart(kind: "kind", isReleased: true))
        #expect(!machine.mayStart(kind: "kind", isReleased: false))
        machine.readinessOpened(.ui)
        #expect(!machine.mayStart(kind: "kind", isReleased: true))
    }

    @Test(
        "An entry may overtake others once its gate has closed, and if it came behind a closed one")
    func overtaking() {
        var machine = machine(EntryKind("kind", requires: [.ui]))
        #expect(machine.opening(of: "kind") == nil)
        #expect(machine.mayOvertake(kind: "kind", dispatchedIn: nil))
        machine.readinessOpened(.ui)
        let opening = machine.opening(of: "kind")
        #expect(!machine.mayOvertake(kind: "kind", dispatchedIn: opening))
        machine.readinessClosed(.ui)
        #expect(machine.mayOvertake(kind: "kind", dispatchedIn: opening))
        machine.readinessOpened(.ui)
        #expect(machine.mayOvertake(kind: "kind", dispatchedIn: opening))
        #expect(!machine.mayOvertake(kind: "kind", dispatchedIn: machine.opening(of: "kind")))
    }

    @Test(
        "No more entries are taken than may be in flight, and an end makes room in the batch that settles it"
    )
    func room() {
        var machine = machine(EntryKind("kind", parallel: 2))
        machine.handlerRegistered(kind: "kind", work: .effect)
        #expect(machine.next(now: .zero) == .perform(DispatchBatch(takes: [take("kind", 2)])))
        machine.batchCommitted(DispatchBatchResult(taken: ["kind": 2], more: ["kind"]), now: .zero)
        #expect(machine.inFlight == 2)
        #expect(machine.next(now: .zero) == idle)
        machine.handlerEnded(acknowledgement(1))
        #expect(
            machine.next(now: .zero)
                == .perform(
                    DispatchBatch(acknowledgements: [acknowledgement(1)], takes: [take("kind", 1)]))
        )
        machine.handlerEnded(acknowledgement(2))
        #expect(machine.next(now: .zero) == .none)
        machine.batchCommitted(DispatchBatchResult(), now: .zero)
        #expect(machine.inFlight == 1)
        #expect(
            machine.next(now: .zero)
                == .perform(DispatchBatch(acknowledgements: [acknowledgement(2)])))
        machine.batchCommitted(DispatchBatchResult(), now: .zero)
        #expect(machine.inFlight == 0)
        #expect(machine.isQuiet)
    }

    @Test("Entries that arrive while a batch is being written are looked for in the next")
    func arrival() {
        var machine = machine(EntryKind("kind"))
        machine.handlerRegistered(kind: "kind", work: .effect)
        _ = machine.next(now: .zero)
        machine.workArrived(kinds: ["kind"], soonest: .seconds(5))
        machine.batchCommitted(DispatchBatchResult(), now: .zero)
        #expect(machine.next(now: .zero) == .perform(DispatchBatch(takes: [take("kind", 1)])))
        machine.batchCommitted(DispatchBatchResult(), now: .zero)
        #expect(machine.next(now: .seconds(1)) == .wait(until: .seconds(5)))
    }

    @Test("The next entry of a partition key is taken in the batch that ends the one before")
    func partitionKey() {
        var machine = machine(EntryKind("kind", parallel: 4))
        machine.handlerRegistered(kind: "kind", work: .effect)
        _ = machine.next(now: .zero)
        machine.batchCommitted(DispatchBatchResult(taken: ["kind": 1]), now: .zero)
        machine.handlerEnded(acknowledgement(1, partitionKey: "lane"))
        #expect(
            machine.next(now: .zero)
                == .perform(
                    DispatchBatch(
                        acknowledgements: [acknowledgement(1, partitionKey: "lane")],
                        takes: [take("kind", 4)])))
    }

    @Test("A timer looks for due entries when the soonest is due, and at least once an hour")
    func timer() {
        var machine = machine(EntryKind("kind"))
        machine.workArrived(kinds: [], soonest: .seconds(90))
        #expect(machine.next(now: .seconds(10)) == .wait(until: .seconds(90)))
        #expect(machine.next(now: .seconds(91)) == .perform(DispatchBatch(looksAtDue: true)))
        machine.batchCommitted(DispatchBatchResult(soonest: .seconds(9_000)), now: .seconds(91))
        #expect(machine.next(now: .seconds(91)) == .wait(until: .seconds(91 + 3_600)))
        machine.workArrived(kinds: [], soonest: .seconds(95))
        machine.workArrived(kinds: [], soonest: .seconds(100))
        #expect(machine.next(now: .seconds(92)) == .wait(until: .seconds(95)))
    }

    @Test("If one batch does not take all due entries, the next follows at once")
    func moreDue() {
        var machine = machine(EntryKind("kind"))
        machine.workArrived(kinds: [], soonest: .zero)
        _ = machine.next(now: .seconds(1))
        machine.batchCommitted(DispatchBatchResult(isMoreDue: true), now: .seconds(1))
        #expect(machine.next(now: .seconds(1)) == .perform(DispatchBatch(looksAtDue: true)))
    }

    @Test(
        "A batch that failed is written again, with its acknowledgements, after a wait that grows")
    func failure() {
        var machine = machine(EntryKind("kind", parallel: 2))
        machine.handlerRegistered(kind: "kind", work: .effect)
        _ = machine.next(now: .zero)
        machine.batchCommitted(DispatchBatchResult(taken: ["kind": 2]), now: .zero)
        machine.handlerEnded(acknowledgement(1, partitionKey: "lane"))
        _ = machine.next(now: .zero)
        machine.handlerEnded(acknowledgement(2))
        machine.batchFailed(isFinal: false, now: .zero, jitter: 0.5)
        #expect(machine.next(now: .zero) == .wait(until: .milliseconds(125)))
        #expect(
            machine.next(now: .milliseconds(125))
                == .perform(
                    DispatchBatch(
                        acknowledgements: [
                            acknowledgement(1, partitionKey: "lane"), acknowledgement(2),
                        ],
                        takes: [take("kind", 2)])))
        machine.batchFailed(isFinal: false, now: .seconds(1), jitter: 0.5)
        #expect(machine.next(now: .seconds(1)) == .wait(until: .milliseconds(1_250)))
        #expect(machine.inFlight == 2)
    }

    @Test("A journal that another process owns takes nothing and writes nothing")
    func lost() {
        var machine = machine(EntryKind("kind"))
        machine.handlerRegistered(kind: "kind", work: .effect)
        _ = machine.next(now: .zero)
        machine.batchFailed(isFinal: true, now: .zero, jitter: 0)
        machine.handlerEnded(acknowledgement(1))
        machine.workArrived(kinds: ["kind"], soonest: .zero)
        #expect(machine.next(now: .seconds(9)) == .none)
        #expect(machine.isQuiet)
    }

    @Test(
        "A closing journal settles entries and takes none; acknowledgements not written by then are returned"
    )
    func closing() {
        var machine = machine(EntryKind("kind", parallel: 3))
        machine.handlerRegistered(kind: "kind", work: .effect)
        _ = machine.next(now: .zero)
        machine.batchCommitted(DispatchBatchResult(taken: ["kind": 3], more: ["kind"]), now: .zero)
        machine.closing()
        machine.handlerEnded(acknowledgement(1))
        #expect(
            machine.next(now: .zero)
                == .perform(DispatchBatch(acknowledgements: [acknowledgement(1)])))
        machine.handlerEnded(acknowledgement(2))
        #expect(!machine.isQuiet)
        #expect(machine.stop() == [acknowledgement(1), acknowledgement(2)])
        machine.batchCommitted(DispatchBatchResult(), now: .zero)
        #expect(machine.next(now: .zero) == .none)
    }

    struct Refused: Error {}

    @Test(
        "An entry whose handler threw is retried or dead by the kind's limit and the error",
        arguments: [
            (
                0, nil,
                Acknowledgement.Disposition.retry(
                    after: .seconds(1), countsAsFailure: true, reason: "Refused()")
            ),
            (1, nil, .retry(after: .seconds(2), countsAsFailure: true, reason: "Refused()")),
            (2, nil, .dead(reason: "Refused()")),
            (0, .permanent("p"), .dead(reason: "p")),
            (
                1, .retry(after: .seconds(9), "r"),
                .retry(after: .seconds(9), countsAsFailure: true, reason: "r")
            ),
            (2, .retry(after: .seconds(9), "r"), .dead(reason: "r")),
            (2, .notReady("n"), .retry(after: .seconds(4), countsAsFailure: false, reason: "n")),
        ] as [(Int, DispatchFailure?, Acknowledgement.Disposition)])
    func dispositions(
        failures: Int, failure: DispatchFailure?, expected: Acknowledgement.Disposition
    ) {
        let kind = EntryKind("kind", attemptLimit: 3, backoff: Backoff(base: .seconds(2)))
        let error: any Error = failure ?? Refused()
        #expect(
            Acknowledgement.Disposition.after(error, kind: kind, failures: failures, jitter: 0.5)
                == expected)
    }
}
