import RepriseCommandLine
import RepriseCore
import RepriseSimulator
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@testable import RepriseCLI

@Suite("Publish window")
struct PublishWindowTests {
    private let channel: ChannelName

    init() throws { channel = try ChannelName("a") }

    private func window(_ count: Int) throws -> PublishWindow {
        var window = PublishWindow(channel: channel)
        for number in 1...count { window.admit([0x31], id: try EntryID("\(number)")) }
        return window
    }

    private func sent(_ window: inout PublishWindow) throws -> [(id: String, after: String?)] {
        var decoder = FrameDecoder()
        return try window.batch().map { frame in
            guard case .publish(let publish) = try decoder.clientFrame(frame) else {
                throw RepriseError(.internal, "no publish")
            }
            return (publish.id.text, publish.after?.text)
        }
    }

    private func published(_ number: Int) throws -> ServerFrame.Published {
        .init(channel: channel, id: try EntryID("\(number)"), seq: Int64(number) + 10)
    }

    private func refused(_ number: Int, _ code: RefusalCode) -> ServerFrame.Refused {
        .init(channel: "a", id: "\(number)", code: code, message: "no")
    }

    @Test("each message names the one before it, and is sent once")
    func order() throws {
        var window = try window(3)
        let frames = try sent(&window)
        #expect(frames.map(\.id) == ["1", "2", "3"])
        #expect(frames.map(\.after) == [nil, "1", "2"])
        let rest = try sent(&window)
        #expect(rest.isEmpty)
    }

    @Test(
        "an acknowledged message leaves the window, also out of order, and a second acknowledgement does not count"
    )
    func acknowledges() throws {
        var window = try window(3)
        _ = window.batch()
        let news = try [2, 1, 1, 3].map { window.published(try published($0)) }
        #expect(news == [true, true, false, true])
        #expect(window.isEmpty)
        #expect(window.acknowledged == 3)
        #expect(window.firstSequence == 11)
        #expect(window.lastSequence == 13)
    }

    @Test(
        "after a lost connection everything unacknowledged goes again, with the same ids and predecessors"
    )
    func reconnects() throws {
        var window = try window(4)
        _ = window.batch()
        _ = window.published(try published(1))
        _ = window.published(try published(3))
        window.disconnected()
        let frames = try sent(&window)
        #expect(frames.map(\.id) == ["2", "4"])
        #expect(frames.map(\.after) == ["1", "3"])
        #expect(window.repeated == 2)
    }

    @Test("a connection that is made again counts as one, however many dials had failed before it")
    func countsReconnections() async throws {
        let dialer = MemoryDialer()
        let reconnects = Counter()
        let publisher = Publisher(
            server: "http://localhost", dialer: dialer,
            queue: PublishQueue(channel: channel) { _, _ in },
            onReconnect: { reconnects.increment() })
        let (bodies, input) = AsyncStream<[UInt8]>.makeStream()
        input.yield([0x31])
        input.finish()
        let running = Task { try await publisher.run(bodies) }
        /// Welcomes the next connection, and gets the message.
        func accept() async throws -> (socket: MemorySocket, message: ClientFrame.Publish) {
            let socket = try await dialer.accept()
            _ = await socket.sent()
            let welcome =
                #"{"type":"welcome","version":1,"timestamp":1,"heartbeat":25000,"server":"x"}"#
            socket.push([Array(welcome.utf8)])
            var decoder = FrameDecoder()
            let frame = try decoder.clientFrame(try #require(await socket.sent()))
            guard case .publish(let message) = frame else {
                throw RepriseError(.internal, "no publish")
            }
            return (socket, message)
        }
        let first = try await accept()
        for _ in 1...3 { dialer.refuse(RepriseError(.unreachable, "no")) }
        first.socket.cut()
        let second = try await accept()
        let answer = ServerFrame.Published(channel: channel, id: second.message.id, seq: 1)
        second.socket.push([ServerFrame.published(answer).encoded()])
        try await eventually("it has the answer") { second.socket.isDrained }
        second.socket.cut()  // which nobody repeats: everything is stored
        try await running.value
        #expect(dialer.count == 5)
        #expect(reconnects.value == 1)
    }

    @Test("a temporary refusal waits at least as long as the server says, and goes on from there")
    func temporary() throws {
        var window = try window(4)
        _ = window.batch()
        var refusal = refused(2, .overloaded)
        refusal.retryAfter = .seconds(3)
        let wait = try window.refused(refusal, jitter: 0.5)
        #expect(wait == .seconds(3))
        let echo = try window.refused(refused(3, .predecessorMissing), jitter: 0.5)
        #expect(echo == nil)
        _ = window.published(try published(1))
        let again = try sent(&window).map(\.id)
        #expect(again == ["2", "3", "4"])
    }

    @Test("each temporary refusal halves the window, down to 16; stored messages open it again")
    func narrows() throws {
        var window = try window(PublishWindow.messageLimit)
        var onTheWay = [window.batch().count]
        for _ in 1...6 {
            _ = try window.refused(refused(1, .rateLimited), jitter: 0)
            onTheWay.append(window.batch().count)
        }
        #expect(onTheWay == [512, 256, 128, 64, 32, 16, 16])
        for number in 1...16 { _ = window.published(try published(number)) }
        #expect(window.batch().count == 32)
    }

    @Test(
        "a permanent refusal is an error with the number of stored messages; one for an unknown id is ignored"
    )
    func permanent() throws {
        var window = try window(2)
        _ = window.batch()
        _ = window.published(try published(1))
        let error = #expect(throws: RepriseError.self) {
            try window.refused(refused(2, .forbidden), jitter: 0)
        }
        #expect(error?.code == .refused)
        let strangers = try [refused(99, .forbidden), refused(1, .unavailable)].map {
            try window.refused($0, jitter: 0)
        }
        #expect(strangers == [nil, nil])
    }

    @Test("the window is limited by number and by bytes", .limit("tool.publish"))
    func bounds() throws {
        var window = PublishWindow(channel: channel)
        var admitted = 0
        while window.hasRoom {
            window.admit([0x31])
            admitted += 1
        }
        #expect(admitted == PublishWindow.messageLimit)
        var large = PublishWindow(channel: channel)
        while large.hasRoom { large.admit([UInt8](repeating: 0x31, count: 60_000)) }
        #expect(large.admitted == 18)
    }

    @Test("every message is acknowledged exactly once in every order of answers")
    func random() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededRandom(seed: seed)
        var window = PublishWindow(channel: channel)
        var stored: [String] = []
        var next = 0
        var wire: [(id: String, after: String?)] = []
        while window.acknowledged < 2_000 {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<4 where next < 2_000 && window.hasRoom:
                next += 1
                window.admit([0x31], id: try EntryID("\(next)"))
            case 4: wire += try sent(&window)
            case 5:
                wire = []
                window.disconnected()
            case 6 where !wire.isEmpty:
                let frame = wire.removeFirst()
                _ = try window.refused(
                    .init(channel: "a", id: frame.id, code: .overloaded, message: ""), jitter: 0)
            default:
                guard !wire.isEmpty else { continue }
                let frame = wire.removeFirst()
                if stored.contains(frame.id) {
                    _ = window.published(try published(Int(frame.id) ?? 0))
                } else if frame.after.map({ stored.contains($0) }) ?? true {
                    stored.append(frame.id)
                    // Now and then the answer is lost with the connection.
                    if Bool.random(using: &generator) {
                        _ = window.published(try published(Int(frame.id) ?? 0))
                    }
                } else {
                    _ = try window.refused(
                        .init(channel: "a", id: frame.id, code: .predecessorMissing, message: ""),
                        jitter: 0)
                }
            }
            if wire.isEmpty, next == 2_000, try sent(&window).isEmpty { window.disconnected() }
        }
        #expect(stored == (1...2_000).map(String.init), "seed \(seed)")
    }
}
