import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// What every log promises, whatever it is made of.
@Suite("A message log")
struct MessageLogTests {
    let room: ChannelName
    let other: ChannelName

    init() throws {
        room = try ChannelName("room")
        other = try ChannelName("other")
    }

    @Test(
        "numbers a channel's messages from 1 and gives back the bytes that came",
        arguments: LogUnderTest.all)
    func numbersMessages(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let bodies = [#"{ "a" : 1.0 }"#, "\"grün\\u0000\"", "null"]
            let batch = bodies.map { message(room, body: $0) } + [message(other)]
            let events = try await store.append(batch).compactMap(\.event)
            #expect(events.map(\.seq) == [1, 2, 3, 1])
            #expect(events.map(\.prev) == [0, 1, 2, 0])
            try await store.reopen()
            let page = try await store.everything(in: room)
            #expect(page.events == Array(events.prefix(3)))
            #expect(page.events.map(\.body) == bodies.map { Array($0.utf8) })
            #expect(page.state.head == 3)
            #expect(page.gone.isEmpty)
        }
    }

    @Test(
        "reports head 0 for an unknown channel, and returns no messages",
        arguments: LogUnderTest.all)
    func unknownChannel(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let state = try await store.log.state(of: room)
            #expect(state.head == 0)
            #expect(state.floor == 0)
            let page = try await store.everything(in: room)
            #expect(page.events.isEmpty)
            #expect(page.gone.isEmpty)
            try await store.fill(other, 1)
            #expect(try await store.log.state(of: room) == state)
        }
    }

    @Test("keeps its epoch over a restart, and has one of its own", arguments: LogUnderTest.all)
    func epoch(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let before = try await store.log.state(of: room).epoch
            try await store.reopen()
            #expect(try await store.log.state(of: room).epoch == before)
            try await kind.run { another in
                let own = try await another.log.state(of: room).epoch
                #expect(own != before)
            }
        }
    }

    @Test("stores a message once however often it comes", arguments: LogUnderTest.all)
    func idempotency(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let first = message(room)
            let twice = try await store.append([first, message(room), first])
            #expect(twice[0].event?.seq == 1)
            #expect(twice[2] == .duplicate(seq: 1))
            #expect(try await store.append([first]) == [.duplicate(seq: 1)])
            try await store.reopen()
            #expect(try await store.append([first]) == [.duplicate(seq: 1)])
            _ = try await store.log.trim(room, through: 2)
            #expect(try await store.append([first]) == [.duplicate(seq: 1)])
            try await store.reopen()
            #expect(try await store.append([first]) == [.duplicate(seq: 1)])
            #expect(try await store.log.state(of: room).head == 2)
        }
    }

    @Test(
        "refuses an id that belongs to another channel, and nothing else of the batch",
        arguments: LogUnderTest.all)
    func conflict(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let first = message(room)
            _ = try await store.append([first])
            let results = try await store.append([
                message(other), message(other, id: first.id), message(other),
            ])
            #expect(results.map { $0.event?.seq } == [1, nil, 2])
            #expect(results[1].refusal == .conflict)
            #expect(try await store.log.state(of: other).head == 2)
        }
    }

    @Test("shows a head with all up to it, though more is asked for", arguments: LogUnderTest.all)
    func history(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let stored = try await store.fill(room, 5)
            let rest = try #require(
                SequenceRange(after: 2, through: WireLimits.greatestSequence))
            let page = try await store.log.page(
                of: room, missing: [rest], limit: .max, byteLimit: .max)
            #expect(page.events == Array(stored.dropFirst(2)))
            #expect(page.through == 5 && page.state.head == 5 && page.gone.isEmpty)
            let past = try await store.log.history(of: room, after: 9, limit: 3)
            #expect(past.events.isEmpty && past.gone.isEmpty && past.state.head == 5)
        }
    }

    @Test("stores a message only behind its predecessor", arguments: LogUnderTest.all)
    func predecessor(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let first = message(room)
            let second = message(room, after: first.id)
            let third = message(room, after: second.id)
            let early = try await store.append([second, third])
            #expect(early.map(\.refusal) == [.predecessorMissing, .predecessorMissing])
            #expect(try await store.log.state(of: room).head == 0)
            let inOrder = try await store.append([first, second, third])
            #expect(inOrder.map { $0.event?.seq } == [1, 2, 3])
            let elsewhere = try await store.append([message(other, after: third.id)])
            #expect(elsewhere[0].refusal == .predecessorMissing)
            _ = try await store.log.trim(room, through: 3)
            let late = try await store.append([message(room, after: third.id)])
            #expect(late[0].event?.seq == 4)
        }
    }

    @Test("never lets a channel's time go back", arguments: LogUnderTest.all)
    func monotonicTime(_ kind: LogUnderTest) async throws {
        let clock = ManualClock()
        let start = clock.wall()
        try await kind.run(clock: clock) { store in
            try await store.fill(room, 1)
            clock.jumpWall(by: .seconds(-3_600))
            try await store.fill(room, 1)
            try await store.reopen()
            try await store.fill(room, 1)
            try await store.fill(other, 1)
            clock.jumpWall(by: .seconds(7_200))
            try await store.fill(room, 1)
            let times = try await store.everything(in: room).events.map(\.time)
            #expect(times == [start, start, start, start.advanced(by: .seconds(3_600))])
            let elsewhere = try await store.everything(in: other).events.map(\.time)
            // A cluster has one time for all channels.
            let earlier = kind.hasOneTime ? start : start.advanced(by: .seconds(-3_600))
            #expect(elsewhere == [earlier])
        }
    }

    @Test(
        "moves the floor when it is trimmed, and leaves the head and every prev",
        arguments: LogUnderTest.all)
    func trimming(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let events = try await store.fill(room, 10)
            #expect(try await store.log.trim(room, through: 4).floor == 4)
            let page = try await store.everything(in: room)
            #expect(page.events == Array(events.suffix(6)))
            #expect(page.gone.map(\.range.description) == ["(0, 4]"])
            #expect(page.gone.map(\.reason) == [.retention])
            let state = try await store.log.trim(room, through: 99)
            #expect(state.floor == 10)
            #expect(state.head == 10)
            try await store.reopen()
            let next = try await store.fill(room, 1)
            #expect(next.map(\.seq) == [11])
            #expect(next.map(\.prev) == [10])
            #expect(try await store.log.trim(room, through: 3).floor == 10)
            #expect(try await store.log.trim(other, through: 3).floor == 0)
        }
    }

    @Test(
        "ends a trim that is cancelled with its transaction, so that a server's end waits for no other",
        arguments: [LogUnderTest.sqlite, .cluster])
    func cancelledTrim(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            for _ in 0..<5 { try await store.fill(room, 1_000) }
            let trimming = Task { [room, log = store.log] in
                while !Task.isCancelled { await Task.yield() }
                _ = try await log.trim(room, through: 5_000)
            }
            trimming.cancel()
            await #expect(throws: CancellationError.self) { try await trimming.value }
            let floor = try await store.log.state(of: room).floor
            #expect(floor > 0 && floor < 5_000)
        }
    }

    @Test(
        "keeps a page within its bounds, but never empty", .limit("server.page"),
        arguments: LogUnderTest.all)
    func pageBounds(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let large = "\"" + String(repeating: "x", count: 998) + "\""
            _ = try await store.append((0..<5).map { _ in message(room, body: large) })
            let all = try #require(SequenceRange(after: 0, through: 5))
            let read = { (limit: Int, bytes: Int) in
                try await store.log.page(
                    of: room, missing: [all], limit: limit, byteLimit: bytes)
            }
            #expect(try await read(2, .max).events.map(\.seq) == [1, 2])
            #expect(try await read(2, .max).through == 2)
            #expect(try await read(9, 3_500).through == 3)
            #expect(try await read(9, 1).events.map(\.seq) == [1])
            #expect(try await read(0, 0).events.map(\.seq) == [1])
            #expect(try await read(9, .max).through == 5)
        }
    }

    @Test("trims by count and by age, whichever takes more", arguments: LogUnderTest.all)
    func policy(_ kind: LogUnderTest) async throws {
        let clock = ManualClock()
        try await kind.run(clock: clock) { store in
            try await store.fill(room, 6)
            try await store.fill(other, 2)
            clock.advance(by: .seconds(60))
            try await store.fill(room, 4)
            try await store.log.trim(RetentionPolicy(), now: clock.wall())
            #expect(try await store.log.state(of: room).floor == 0)
            try await store.log.trim(RetentionPolicy(count: 7), now: clock.wall())
            #expect(try await store.log.state(of: room).floor == 3)
            #expect(try await store.log.state(of: other).floor == 0)
            let minute = RetentionPolicy(count: 7, age: .seconds(59))
            try await store.log.trim(minute, now: clock.wall())
            #expect(try await store.log.state(of: room).floor == 6)
            #expect(try await store.log.state(of: other).floor == 2)
            #expect(try await store.fill(other, 1).map(\.seq) == [3])
            #expect(try await store.everything(in: room).events.map(\.seq) == [7, 8, 9, 10])
        }
    }

    @Test(
        "answers a probe by a write, and refuses all once it is closed", arguments: LogUnderTest.all
    )
    func probeAndClose(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            try await store.log.probe()
            let log = store.log
            await log.close()
            await expectError(.closed) { try await log.probe() }
            await expectError(.closed) {
                try await log.append([message(room)])
            }
            await expectError(.closed) { try await log.state(of: room) }
            await log.close()
            try await store.reopen()
        }
    }
}
