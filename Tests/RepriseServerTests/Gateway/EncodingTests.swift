import NIOCore
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Frames that are encoded once")
struct EncodingTests {
    static func event(
        _ seq: Int64, prev: Int64? = nil, in name: String = "general", bytes: Int = 20
    )
        throws -> ServerFrame.Event
    {
        ServerFrame.Event(
            channel: channel(name), seq: seq, prev: prev ?? seq - 1, id: try EntryID("m\(seq)"),
            time: WallTime(milliseconds: seq * 7 - 20), body: json(bytes: bytes))
    }

    @Test(
        "an event's bytes are those of its frame",
        arguments: [1, 9, 10, 99, 1_000_000, WireLimits.greatestSequence],
        [0, 1, 60, 65_400, 65_536])
    func sameBytes(_ seq: Int64, _ size: Int) throws {
        for prev in [0, seq / 2, seq - 1] where prev < seq {
            let event = try Self.event(seq, prev: prev, bytes: size)
            var buffer = ByteBuffer()
            let encoder = EventEncoder(channel: event.channel)
            encoder.write(event, to: &buffer)
            #expect(buffer.readableBytes <= encoder.capacity(for: event))
            var expected = ByteBuffer()
            WebSocketFraming.write(.event(event), to: &expected)
            #expect(buffer == expected)
        }
    }

    @Test(
        "an author, a change and a deletion are written as in the frame",
        arguments: [nil, "a", "auth0|5f7c8ec7", String(repeating: "x", count: 128)],
        [nil, .edits(1), .deletes(WireLimits.greatestSequence)] as [MessageChange<Int64>?])
    func authorship(_ from: String?, _ change: MessageChange<Int64>?) throws {
        for isDeleted in [false, true] {
            var event = try Self.event(77, prev: 12)
            event.from = try from.map { try UserID($0) }
            event.change = change
            event.isDeleted = isDeleted
            let encoder = EventEncoder(channel: event.channel)
            var (buffer, expected) = (ByteBuffer(), ByteBuffer())
            encoder.write(event, to: &buffer)
            WebSocketFraming.write(.event(event), to: &expected)
            #expect(buffer == expected)
            #expect(buffer.readableBytes <= encoder.capacity(for: event))
        }
    }

    @Test("a time before 1970 is written like any other")
    func negativeTime() throws {
        var event = try Self.event(1)
        event.time = WallTime(milliseconds: .min)
        var (buffer, expected) = (ByteBuffer(), ByteBuffer())
        EventEncoder(channel: event.channel).write(event, to: &buffer)
        WebSocketFraming.write(.event(event), to: &expected)
        #expect(buffer == expected)
    }

    @Test("a commit becomes one run a channel, in order, for the channels that are wanted")
    func runs() throws {
        let events = try [
            Self.event(5, in: "a"), Self.event(1, in: "b"), Self.event(9, prev: 5, in: "a"),
            Self.event(1, in: "c"), Self.event(10, in: "a"),
        ]
        let runs = LiveRun.encode(events, of: [channel("a"), channel("c")])
        #expect(runs.map(\.channel.text) == ["a", "c"])
        #expect(runs.map(\.prev) == [4, 0])
        #expect(runs.map(\.seq) == [10, 1])
        func frames(_ indices: [Int]) -> ByteBuffer {
            var buffer = ByteBuffer()
            for index in indices { WebSocketFraming.write(.event(events[index]), to: &buffer) }
            return buffer
        }
        #expect(runs[0].bytes == frames([0, 2, 4]))
        #expect(runs[0].bytes(after: 5) == frames([2, 4]))
        #expect(runs[0].bytes(after: 7) == frames([2, 4]))
        #expect(runs[0].bytes(after: 9) == frames([4]))
        #expect(runs[0].bytes(after: 2) == frames([0, 2, 4]))
    }

    @Test("a run ends where it is large enough, and the next one follows on it")
    func runsAreBounded() throws {
        let events = try (1...10).map { try Self.event($0, bytes: 1_000) }
        let runs = LiveRun.encode(events, of: [channel()], bytesPerRun: 3_000)
        #expect(runs.allSatisfy { $0.bytes.readableBytes < 4_200 })
        #expect(runs.map(\.prev) == [0] + runs.dropLast().map(\.seq))
        #expect(runs.last?.seq == 10)
    }

    @Test("the timer wheel returns timers in the order in which they are due")
    func timerWheel() {
        var timerWheel = TimerWheel(tick: .milliseconds(100), now: .seconds(50))
        let soon = timerWheel.add(1, after: .zero)
        let later = timerWheel.add(2, after: .milliseconds(250))
        let early = timerWheel.advance(to: .seconds(50))
        #expect(early.isEmpty)
        let first = timerWheel.advance(to: .milliseconds(50_100))
        #expect(first.map(\.id) == [1])
        #expect(soon == 1)
        let due = timerWheel.advance(to: .seconds(60))
        #expect(due.map(\.id) == [2])
        #expect(due.map(\.turn) == [later])
    }

    @Test("after a pause of years the timer wheel returns what is due at once, and goes on")
    func timerWheelAfterPause() {
        let tick = Duration.seconds(1)
        var timerWheel = TimerWheel(tick: tick, now: .zero)
        for (id, delay) in [(1, 3), (2, 1), (3, 2), (4, 1)] as [(UInt64, Int)] {
            _ = timerWheel.add(id, after: tick * delay)
        }
        let pause = tick * 250_000_000
        _ = timerWheel.add(5, after: pause + tick)
        var due: [(id: UInt64, turn: Int)] = []
        let took = ContinuousClock().measure { due = timerWheel.advance(to: pause) }
        #expect(due.map(\.id) == [2, 4, 3, 1] && due.map(\.turn) == [1, 1, 2, 3])
        #expect(took < .seconds(1), "not tick by tick")
        let turn = timerWheel.add(6, after: tick)
        let next = timerWheel.advance(to: pause + tick)
        #expect(next.map(\.id) == [5, 6] && next.map(\.turn) == [turn, turn])
    }
}
