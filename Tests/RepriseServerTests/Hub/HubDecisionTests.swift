import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("Hub decisions")
struct HubDecisionTests {
    let room: ChannelName
    let hall: ChannelName

    init() throws {
        room = try ChannelName("room")
        hall = try ChannelName("hall")
    }

    // MARK: Turns

    @Test("one subscription reads at a time, in the order in which they asked")
    func turns() {
        var turns = ReadTurns<String>()
        turns.asked("a")
        turns.asked("b")
        #expect(turns.next(isWritable: true) == "a")
        turns.readStarted()
        #expect(turns.next(isWritable: true) == nil)
        turns.readEnded()
        #expect(turns.next(isWritable: false) == nil, "nothing is read for who takes nothing")
        #expect(turns.next(isWritable: true) == "b")
        #expect(turns.next(isWritable: true) == nil)
    }

    @Test("no subscription reads more than two pages ahead of the transport")
    func pagesAhead() {
        var turns = ReadTurns<String>()
        for name in ["a", "b", "c"] { turns.asked(name) }
        for expected in ["a", "b"] {
            #expect(turns.next(isWritable: true) == expected)
            turns.readStarted()
            turns.readEnded()
            turns.pageSent()
        }
        #expect(turns.next(isWritable: true) == nil)
        turns.pageTaken()
        #expect(turns.next(isWritable: true) == "c")
    }

    @Test("a subscription that has ended gets no turn")
    func left() {
        var turns = ReadTurns<String>()
        for name in ["a", "b"] { turns.asked(name) }
        turns.left { $0 == "a" }
        #expect(turns.next(isWritable: true) == "b")
    }

    // MARK: Heartbeats

    @Test("a heartbeat sends changed heads, and keeps those that a connection may not get yet")
    func heartbeats() {
        var beats = Heartbeats<Int>(interval: .seconds(25), now: .zero)
        var heads: [ChannelName: [(connection: Int, head: Int64?)]] = [
            room: [(1, 7), (2, nil)], hall: [(1, 3)],
        ]
        beats.eventsCame(in: room)
        #expect(beats.ticked(now: .seconds(24)) { heads[$0] ?? [] } == nil)
        #expect(beats.ticked(now: .seconds(25)) { heads[$0] ?? [] } == [1: [room: 7]])
        heads[room] = [(1, 7), (2, 7)]
        #expect(beats.ticked(now: .seconds(49)) { heads[$0] ?? [] } == nil)
        let second = beats.ticked(now: .seconds(50)) { heads[$0] ?? [] }
        #expect(second == [1: [room: 7], 2: [room: 7]])
        #expect(beats.ticked(now: .seconds(75)) { heads[$0] ?? [] } == [:])
        beats.eventsCame(in: hall)
        beats.interestEnded(in: hall)
        #expect(beats.ticked(now: .seconds(100)) { heads[$0] ?? [] } == [:])
    }

    // MARK: Flushing

    @Test(
        "a turn flushes a bounded number of connections, in the order in which they wrote, and the next is scheduled once"
    )
    func flushTurns() {
        var turns = FlushTurns<Int>()
        let most = FlushTurns<Int>.most
        for number in 0..<2 * most + 1 { turns.join(number) }
        func turn() -> (flushed: [Int], isAnotherScheduled: Bool) {
            var flushed: [Int] = []
            while let next = turns.next() { flushed.append(next) }
            return (flushed, turns.ended())
        }
        let first = turn()
        #expect(first.flushed == Array(0..<most))
        #expect(first.isAnotherScheduled)
        // What was read in between wants a flush, too.
        let between = turn()
        #expect(between.flushed == Array(most..<2 * most))
        #expect(!between.isAnotherScheduled, "one is scheduled already")
        turns.began()
        turns.join(-1)
        let second = turn()
        #expect(second.flushed == [2 * most, -1])
        #expect(!second.isAnotherScheduled, "nobody waits")
        for number in 0...most { turns.join(number) }
        let third = turn()
        #expect(third.flushed.count == most)
        #expect(third.isAnotherScheduled, "the scheduled one has begun, so another is needed")
    }

    // MARK: Letters

    @Test("one turn is scheduled for all waiting events, which keep their order")
    func events() {
        var box = ShardQueue<String>(waitingBytes: 100)
        let first = box.post("a")
        #expect(first)
        let schedules = box.post(live: "b", bytes: 10, of: [room])
        #expect(!schedules)
        let (events, missed) = box.open()
        #expect(events == ["a", "b"])
        #expect(missed.isEmpty)
        let again = box.post("c")
        #expect(again)
    }

    @Test("live events beyond the bound are left out and their channels named; one run always fits")
    func missed() {
        var box = ShardQueue<String>(waitingBytes: 100)
        _ = box.post(live: "huge", bytes: 500, of: [room])
        _ = box.post(live: "more", bytes: 1, of: [hall])
        let (events, missed) = box.open()
        #expect(events == ["huge"])
        #expect(missed == [hall])
    }

    // MARK: What becomes of a batch

    @Test(
        "subscribers get a batch before it is answered; if its outcome is unknown they are notified before it is refused"
    )
    func actions() throws {
        typealias Queue = CommitQueue<String>
        var queue = Queue(limits: Committer.Limits())
        let message = message(room)
        #expect(queue.add(.init(messages: [message], reply: "one")) == nil)
        #expect(queue.add(.init(messages: [message, message], reply: "two")) == nil)
        let batch = queue.take()
        var head = AppendRules.Head(
            key: 1, seq: 4, count: 4, bytes: 0, time: WallTime(milliseconds: 9))
        let event = head.take(message, now: WallTime(milliseconds: 3))
        #expect(event.seq == 5 && event.prev == 4 && event.time.milliseconds == 9)

        let told = Queue.stored(
            batch, [.stored(event), .duplicate(seq: 5), .duplicate(seq: 5)])
        #expect(told.map(Self.text) == ["fan out 1", "answer one: 1", "answer two: 2"])
        let failed = Queue.failed(batch, RepriseError(.diskFailed, ""))
        #expect(failed.map(Self.text) == ["doubt room", "refuse one", "refuse two"])
    }

    private static func text(_ action: CommitQueue<String>.Action) -> String {
        switch action {
        case .fanOut(let events): "fan out \(events.count)"
        case .doubt(let channels): "doubt \(channels.map(\.text).joined())"
        case .answer(let reply, .success(let results)): "answer \(reply): \(results.count)"
        case .answer(let reply, .failure): "refuse \(reply)"
        }
    }
}
