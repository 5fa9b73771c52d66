import RepriseChannels
import RepriseCore
import RepriseWire
import Testing

@Suite("At-least-once reader machine")
struct AtLeastOnceReaderMachineTests {
    private static let wall = WallTime(milliseconds: 1_000)

    private static func messages(_ arrivals: ClosedRange<Int64>) throws -> [Arrived] {
        try arrivals.map { arrival in
            Arrived(
                arrival: arrival,
                message: Message(
                    channel: try ChannelName("general"), seq: arrival,
                    id: try EntryID("m\(arrival)"), time: wall, body: [0x31], attempt: 1))
        }
    }

    /// A reader whose clocks stand still; `isDone` is what has been handed over.
    private struct Run {
        var machine: AtLeastOnceReaderMachine
        var steps: [String] = []

        init(window: Int) {
            machine = AtLeastOnceReaderMachine(options: ReaderOptions(window: window), cursor: 0)
        }

        mutating func next() -> AtLeastOnceReaderMachine.Step {
            let step = machine.next(at: .seconds(1), wall: wall)
            switch step {
            case .loadDue: steps.append("due")
            case .loadPage(let cursor): steps.append("page \(cursor)")
            case .dispatch(let arrived): steps.append("hand \(arrived.arrival)")
            case .write(let write): steps.append("write \(write.cursor)-\(write.dispatching)")
            case .awaitWrite: steps.append("await")
            case .mark(let arrival): steps.append("mark \(arrival)")
            case .settle(let acknowledgement): steps.append("settle \(acknowledgement.arrival)")
            case .wait: steps.append("wait")
            case .finish: steps.append("finish")
            }
            return step
        }

        mutating func begin(_ messages: [Arrived]) {
            _ = next()
            machine.dueLoaded([], next: nil, at: wall)
            _ = next()
            machine.pageLoaded(messages)
        }

        mutating func handled(_ error: (any Error)? = nil) {
            machine.handled(error, at: .seconds(1), wall: wall, jitter: 0.5)
        }
    }

    @Test("dispatches nothing before its mark as in flight is durable")
    func handingFirst() throws {
        var run = Run(window: 2)
        run.begin(try Self.messages(1...3))
        _ = run.next()
        _ = run.next()
        #expect(run.steps == ["due", "page 0", "write 0-2", "await"])
        run.machine.written()
        _ = run.next()
        #expect(run.steps.last == "hand 1")
    }

    @Test("writes marks while handlers run, and waits for the disk only when the window is used up")
    func beside() throws {
        var run = Run(window: 2)
        run.begin(try Self.messages(1...4))
        _ = run.next()
        run.machine.written()
        _ = run.next()
        run.handled()
        _ = run.next()  // half of the window is used
        _ = run.next()
        run.handled()
        _ = run.next()
        #expect(
            run.steps.dropFirst(2) == ["write 0-2", "hand 1", "write 1-3", "hand 2", "await"])
        run.machine.written()
        #expect(run.machine.cursor == 1)
        _ = run.next()
        #expect(run.steps.last == "hand 3")
    }

    @Test("releases the window before it rests, and when it is told to stop")
    func releases() throws {
        var run = Run(window: 8)
        run.begin(try Self.messages(1...1))
        _ = run.next()
        run.machine.written()
        _ = run.next()
        run.handled(DispatchFailure.retry(after: .seconds(5), "Later."))
        run.machine.stopRequested()
        guard case .write(let write) = run.next() else { return #expect(Bool(false)) }
        #expect(write.cursor == 1 && write.dispatching == 1)
        #expect(write.acknowledgements.map(\.arrival) == [1])
        #expect(write.soonest == Self.wall.advanced(by: .seconds(5)))
        _ = run.next()
        run.machine.written()
        _ = run.next()
        #expect(run.steps.suffix(2) == ["await", "finish"])
    }

    @Test("goes on when it runs again, first with the write that the former run did not finish")
    func runsAgain() throws {
        var run = Run(window: 8)
        run.begin(try Self.messages(1...2))
        _ = run.next()
        run.machine.written()
        _ = run.next()
        run.handled()
        run.machine.stopRequested()
        _ = run.next()
        let unfinished = run.machine.started()
        #expect(unfinished?.cursor == 1 && run.steps.suffix(2) == ["hand 1", "write 1-1"])
        run.machine.written()
        for _ in 1...2 {  // the second look, because a message was handled
            _ = run.next()
            run.machine.dueLoaded([], next: nil, at: Self.wall)
        }
        _ = run.next()
        #expect(run.steps.suffix(3) == ["due", "due", "page 1"])
        run.machine.pageLoaded([])
        run.machine.stopRequested()
        _ = run.next()
        #expect(run.steps.last == "finish")
        let nothing = run.machine.started()
        #expect(nothing == nil)
        _ = run.next()
        #expect(run.steps.last == "due")
    }

    @Test("dispatches retried messages one at a time, each marked before and settled after")
    func exceptions() throws {
        var run = Run(window: 8)
        _ = run.next()
        let due = try Self.messages(1...2).map {
            ReaderStore.Exceptional(arrived: $0, attempts: 1, failures: 1)
        }
        run.machine.dueLoaded(due, next: nil, at: Self.wall)
        for _ in due {
            _ = run.next()
            run.machine.marked()
            _ = run.next()
            run.handled()
            _ = run.next()
            run.machine.settled()
        }
        _ = run.next()
        #expect(
            run.steps == [
                "due", "mark 1", "hand 1", "settle 1", "mark 2", "hand 2", "settle 2", "page 0",
            ])
    }

    @Test("a message that fails again at once does not hold up those behind it")
    func noStarving() throws {
        var run = Run(window: 8)
        let messages = try Self.messages(1...3)
        let again = ReaderStore.Exceptional(arrived: messages[0], attempts: 1, failures: 1)
        var hasFailed = false
        for _ in 0..<40 {
            switch run.next() {
            case .loadDue:
                run.machine.dueLoaded(hasFailed ? [again] : [], next: nil, at: Self.wall)
            case .loadPage(let cursor): run.machine.pageLoaded(cursor == 0 ? messages : [])
            case .dispatch(let arrived) where arrived.arrival == 1:
                hasFailed = true
                run.handled(DispatchFailure.retry(after: .zero, "Again."))
            case .dispatch: run.handled()
            case .write: run.machine.written()
            case .mark: run.machine.marked()
            case .settle: run.machine.settled()
            case .wait: run.machine.woke()
            case .awaitWrite, .finish: Issue.record("nothing is under way, and nobody said stop")
            }
        }
        #expect(run.steps.contains("hand 2") && run.steps.contains("hand 3"))
        #expect(run.steps.filter { $0 == "mark 1" }.count > 2)
    }
}
