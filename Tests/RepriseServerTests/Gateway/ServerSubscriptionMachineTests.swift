import RepriseServer
import RepriseWire
import Testing

@Suite("The machine of a subscription")
struct ServerSubscriptionMachineTests {
    typealias Action = ServerSubscriptionMachine.Action

    static func epoch(_ text: String = "e") throws -> Epoch { try Epoch(text) }

    static func state(head: Int64, floor: Int64 = 0, epoch text: String = "e") throws
        -> LogChannelState
    {
        LogChannelState(epoch: try epoch(text), head: head, floor: floor)
    }

    static func range(_ after: Int64, _ through: Int64) throws -> SequenceRange {
        try #require(SequenceRange(after: after, through: through))
    }

    /// A machine that is live at `head`.
    static func live(at head: Int64) throws -> ServerSubscriptionMachine {
        var machine = ServerSubscriptionMachine(
            epoch: try epoch(), coverage: Coverage(through: head))
        #expect(machine.nextRead() == .state)
        _ = machine.stateRead(try state(head: head), ticket: machine.ticket)
        #expect(machine.headToTell == head)
        return machine
    }

    struct Opening: Sendable {
        var what: String
        var epoch: String?
        var covered: [(Int64, Int64)] = []
        var head: Int64
        var missing: [(Int64, Int64)]
        var reset = false
    }

    static let openings: [Opening] = [
        Opening(what: "nothing of nothing", epoch: nil, head: 0, missing: []),
        Opening(what: "nothing of something", epoch: nil, head: 5, missing: [(0, 5)]),
        Opening(what: "everything", epoch: "e", covered: [(0, 5)], head: 5, missing: []),
        Opening(
            what: "holes", epoch: "e", covered: [(2, 3), (4, 5)], head: 9,
            missing: [(0, 2), (3, 4), (5, 9)]),
        Opening(
            what: "another epoch", epoch: "old", covered: [(0, 50)], head: 9, missing: [(0, 9)]),
        Opening(
            what: "beyond the head", epoch: "e", covered: [(0, 10)], head: 9, missing: [(0, 9)],
            reset: true),
        Opening(
            what: "beyond an empty log", epoch: "e", covered: [(0, 10)], head: 0, missing: [],
            reset: true),
        Opening(
            what: "positions without an epoch", epoch: nil, covered: [(0, 4)], head: 9,
            missing: [(0, 9)], reset: true),
    ]

    @Test("a request is answered with exactly what is missing up to the head", arguments: openings)
    func opens(_ opening: Opening) throws {
        var coverage = Coverage()
        for (after, through) in opening.covered { coverage.insert(after: after, through: through) }
        var machine = ServerSubscriptionMachine(
            epoch: try opening.epoch.map(Self.epoch), coverage: coverage)
        #expect(machine.nextRead() == .state)
        #expect(!machine.wantsRead, "one read at a time")
        let state = try Self.state(head: opening.head)
        var actions = machine.stateRead(state, ticket: machine.ticket)
        if coverage.top > opening.head, opening.epoch == "e" {
            #expect(
                actions.removeFirst()
                    == .warnBeyondHead(claimed: coverage.top, head: opening.head))
        }
        #expect(actions.removeFirst() == .sendSubscribed(state, reset: opening.reset))
        if opening.missing.isEmpty {
            #expect(actions == [.sendSyncComplete(epoch: state.epoch, through: opening.head)])
            #expect(machine.nextRead() == nil)
        } else {
            #expect(actions.isEmpty)
            let missing = try opening.missing.map { try Self.range($0, $1) }
            #expect(machine.nextRead() == .page(missing: missing))
        }
    }

    @Test("pages go on where the last one ended, and the target does not move")
    func pages() throws {
        var machine = ServerSubscriptionMachine(epoch: nil, coverage: Coverage())
        _ = machine.nextRead()
        _ = machine.stateRead(try Self.state(head: 10), ticket: machine.ticket)
        _ = machine.nextRead()
        #expect(machine.committed(after: 10, through: 12, mayWrite: true) == .send)
        let epoch = try Self.epoch()
        #expect(machine.pageRead(through: 4, epoch: epoch, ticket: machine.ticket) == [])
        #expect(machine.headToTell == nil, "heads are not told during a catch-up")
        #expect(machine.nextRead() == .page(missing: [try Self.range(4, 10)]))
        #expect(
            machine.pageRead(through: 10, epoch: epoch, ticket: machine.ticket)
                == [.sendSyncComplete(epoch: epoch, through: 10)])
        #expect(machine.headToTell == 12)
    }

    @Test("an event that comes before the log has answered raises the target instead of being sent")
    func eventBeforeTheAnswer() throws {
        var machine = ServerSubscriptionMachine(epoch: nil, coverage: Coverage())
        _ = machine.nextRead()
        #expect(machine.committed(after: 5, through: 7, mayWrite: true) == .skip)
        let actions = machine.stateRead(try Self.state(head: 5), ticket: machine.ticket)
        #expect(actions == [.sendSubscribed(try Self.state(head: 7), reset: false)])
        #expect(machine.committed(after: 5, through: 7, mayWrite: true) == .skip)
        #expect(machine.committed(after: 5, through: 9, mayWrite: true) == .sendAfter(7))
        #expect(machine.committed(after: 9, through: 10, mayWrite: true) == .send)
    }

    @Test("an event that the answer counts already is not sent live as well")
    func eventBehindTheAnswer() throws {
        var machine = try Self.live(at: 7)
        #expect(machine.committed(after: 5, through: 7, mayWrite: true) == .skip)
        #expect(!machine.wantsRead)
    }

    @Test("events that may not be written yet are read later, from where the subscription stopped")
    func demotion() throws {
        var machine = try Self.live(at: 5)
        #expect(machine.committed(after: 5, through: 6, mayWrite: false) == .skip)
        #expect(
            machine.committed(after: 6, through: 8, mayWrite: true) == .skip,
            "not out of order, even when there is room again")
        #expect(machine.headToTell == nil)
        #expect(machine.nextRead() == .state)
        #expect(machine.committed(after: 8, through: 9, mayWrite: true) == .skip)
        let state = try Self.state(head: 8)
        #expect(
            machine.stateRead(state, ticket: machine.ticket)
                == [.sendSubscribed(try Self.state(head: 9), reset: false)])
        #expect(machine.nextRead() == .page(missing: [try Self.range(5, 9)]))
    }

    @Test("a subscription demoted during a catch-up completes that one and begins another")
    func demotedDuringCatchUp() throws {
        var machine = ServerSubscriptionMachine(epoch: nil, coverage: Coverage())
        _ = machine.nextRead()
        _ = machine.stateRead(try Self.state(head: 10), ticket: machine.ticket)
        _ = machine.nextRead()
        #expect(machine.committed(after: 10, through: 11, mayWrite: false) == .skip)
        let epoch = try Self.epoch()
        #expect(
            machine.pageRead(through: 10, epoch: epoch, ticket: machine.ticket)
                == [.sendSyncComplete(epoch: epoch, through: 10)])
        #expect(machine.nextRead() == .state)
        _ = machine.stateRead(try Self.state(head: 11), ticket: machine.ticket)
        #expect(machine.nextRead() == .page(missing: [try Self.range(10, 11)]))
    }

    @Test("a hole in what comes live is read from the log")
    func hole() throws {
        var machine = try Self.live(at: 5)
        #expect(machine.committed(after: 6, through: 7, mayWrite: true) == .skip)
        #expect(machine.nextRead() == .state)
        _ = machine.stateRead(try Self.state(head: 7), ticket: machine.ticket)
        #expect(machine.nextRead() == .page(missing: [try Self.range(5, 7)]))
    }

    @Test("after a failed commit the log is read, and nothing is sent if it has nothing new")
    func doubt() throws {
        var machine = try Self.live(at: 5)
        machine.logBecameUncertain()
        #expect(machine.committed(after: 5, through: 6, mayWrite: true) == .skip)
        #expect(machine.nextRead() == .state)
        machine.logBecameUncertain()
        _ = machine.stateRead(try Self.state(head: 6), ticket: machine.ticket)
        #expect(machine.nextRead() == .page(missing: [try Self.range(5, 6)]))
        let epoch = try Self.epoch()
        _ = machine.pageRead(through: 6, epoch: epoch, ticket: machine.ticket)
        #expect(
            machine.nextRead() == .state, "the second doubt came after the first answer was asked")
        #expect(machine.stateRead(try Self.state(head: 6), ticket: machine.ticket) == [])
        #expect(machine.headToTell == 6)
    }

    @Test("a new request drops the answers to the earlier one")
    func staleAnswers() throws {
        var machine = ServerSubscriptionMachine(epoch: nil, coverage: Coverage())
        _ = machine.nextRead()
        let old = machine.ticket
        machine.asked(epoch: try Self.epoch(), coverage: Coverage(through: 3))
        #expect(machine.stateRead(try Self.state(head: 9), ticket: old) == [])
        #expect(machine.nextRead() == .state)
        _ = machine.stateRead(try Self.state(head: 9), ticket: machine.ticket)
        #expect(machine.nextRead() == .page(missing: [try Self.range(3, 9)]))
        let older = machine.ticket
        machine.asked(epoch: try Self.epoch(), coverage: Coverage(through: 8))
        #expect(machine.pageRead(through: 9, epoch: try Self.epoch(), ticket: older) == nil)
    }

    @Test("a failed read is tried again; a page that answers nothing is not sent")
    func failedReads() throws {
        var machine = ServerSubscriptionMachine(epoch: nil, coverage: Coverage())
        _ = machine.nextRead()
        machine.readFailed(ticket: machine.ticket)
        #expect(machine.nextRead() == .state)
        _ = machine.stateRead(try Self.state(head: 9), ticket: machine.ticket)
        _ = machine.nextRead()
        #expect(
            machine.pageRead(through: 0, epoch: try Self.epoch(), ticket: machine.ticket) == nil)
        #expect(machine.nextRead() == .page(missing: [try Self.range(0, 9)]))
    }

    @Test("a page of another epoch is not sent; the subscription opens again with the new epoch")
    func epochBetweenPages() throws {
        var machine = ServerSubscriptionMachine(epoch: nil, coverage: Coverage())
        _ = machine.nextRead()
        _ = machine.stateRead(try Self.state(head: 9), ticket: machine.ticket)
        _ = machine.nextRead()
        let new = try Self.epoch("new")
        #expect(machine.pageRead(through: 3, epoch: new, ticket: machine.ticket) == nil)
        #expect(machine.nextRead() == .state)
        let state = try Self.state(head: 12, epoch: "new")
        #expect(
            machine.stateRead(state, ticket: machine.ticket)
                == [.sendSubscribed(state, reset: false)])
    }
}
