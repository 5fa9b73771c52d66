import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Publishing over WebSocket")
struct PublishingTests {
    static func answer(_ client: TestClient, to text: String) async throws -> ServerFrame {
        try await client.send(text: text)
        return try await client.nextFrame()
    }

    @Test("each publish is answered, a repeated one with the same sequence")
    func answers() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            let ids = try (0..<3).map { try EntryID("m\($0)") }
            try await client.send(
                (ids + ids).map { .publish(.init(channel: channel(), id: $0, body: [0x31])) })
            var answers: [ServerFrame.Published] = []
            while answers.count < 6 {
                guard case .published(let published) = try await client.nextFrame() else {
                    continue
                }
                answers.append(published)
            }
            #expect(answers.map(\.id) == ids + ids)
            #expect(answers.map(\.seq) == [1, 2, 3, 1, 2, 3])
        }
    }

    @Test(
        "a message that cannot be stored is refused, and the connection stays",
        arguments: [
            (#"{"type":"publish","channelId":"no good","id":"a","body":1}"#, "badChannelName"),
            (#"{"type":"publish","channelId":"c","id":"with space","body":1}"#, "badID"),
            (#"{"type":"publish","channelId":"d","id":"known","body":1}"#, "conflict"),
            (
                #"{"type":"publish","channelId":"c","id":"x","after":"y","body":1}"#,
                "predecessorMissing"
            ),
            (#"{"type":"subscribe","channels":[{"channelId":"no good"}]}"#, "badChannelName"),
        ])
    func refusals(_ text: String, _ code: String) async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            let known = #"{"type":"publish","channelId":"c","id":"known","body":1}"#
            guard case .published = try await Self.answer(client, to: known),
                case .refused(let refused) = try await Self.answer(client, to: text)
            else {
                Issue.record("not refused")
                return
            }
            #expect(refused.code.name == code)
            if text.contains("publish") { #expect(refused.id != nil && refused.channel != nil) }
            guard case .published = try await Self.answer(client, to: known) else {
                Issue.record("the connection is gone")
                return
            }
        }
    }

    @Test("one bad name of several is refused alone, and the others are served")
    func oneBadName() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            let asked =
                #"{"type":"subscribe","request":7,"channels":[{"channelId":"a"},"#
                + #"{"channelId":"-no good"},{"channelId":"b"}]}"#
            try await client.send(text: asked)
            var subscribed: [String: Int64?] = [:]
            while subscribed.count < 2 {
                switch try await client.nextFrame() {
                case .subscribed(let answer):
                    subscribed[answer.channel.text] = answer.request
                case .refused(let refused):
                    #expect(refused.channel == "-no good" && refused.id == nil)
                    #expect(refused.code == .badChannelName && refused.request == 7)
                case .syncComplete: continue
                case let other: Issue.record("\(other)")
                }
            }
            #expect(subscribed == ["a": 7, "b": 7])
            _ = try await client.everythingSoFar()

            let left = #"{"type":"unsubscribe","channels":["a","-no good","b"]}"#
            guard case .refused(let refused) = try await Self.answer(client, to: left) else {
                Issue.record("not refused")
                return
            }
            #expect(refused.channel == "-no good" && refused.code == .badChannelName)
            try await server.fill(channel("a"), messages: 1)
            #expect(try await client.everythingSoFar().isEmpty, "it has left the others")
        }
    }

    @Test("an answer names the newest request of its channel, which settles those before it")
    func numberedRequests() async throws {
        let log = try MemoryLog()
        try await RunningServer.with(log: log) { server in
            let client = try await server.client()
            let numbers = (1...20).map(Int64.init)
            let asked = numbers.flatMap { number in
                let text =
                    #"{"type":"subscribe","request":\#(number),"channels":[{"channelId":"a"}]}"#
                return TestClient.frame(0x81, Array(text.utf8))
            }
            try await client.socket.send(asked)
            var answers: [Int64] = []
            while answers.last != 20 {
                guard case .subscribed(let answer) = try await client.nextFrame() else { continue }
                answers.append(try #require(answer.request))
            }
            #expect(answers == answers.sorted())
            try await client.send(text: #"{"type":"subscribe","channels":[{"channelId":"a"}]}"#)
            while true {
                guard case .subscribed(let answer) = try await client.nextFrame() else { continue }
                #expect(answer.request == nil, "this one had no number")
                return
            }
        }
    }

    @Test(
        "a body beyond the limit is refused as too large, one at the limit is stored",
        .limit("wire.body"))
    func bodySize() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            try await client.send([
                .publish(
                    .init(channel: channel(), id: try EntryID("big"), body: json(bytes: 65_537))),
                .publish(
                    .init(channel: channel(), id: try EntryID("fits"), body: json(bytes: 65_536))),
            ])
            guard case .refused(let refused) = try await client.nextFrame(),
                case .published(let published) = try await client.nextFrame()
            else {
                Issue.record("not refused")
                return
            }
            #expect(refused.code == .tooLarge)
            #expect(refused.id == "big")
            #expect(published.seq == 1)
        }
    }

    @Test("a failed commit is answered with unavailable, and the same id can be sent again")
    func failedCommit() async throws {
        try await RunningServer.with { server in
            server.log.change { $0.failures = 1 }
            let client = try await server.client()
            let text = #"{"type":"publish","channelId":"c","id":"m","body":1}"#
            guard case .refused(let refused) = try await Self.answer(client, to: text) else {
                Issue.record("not refused")
                return
            }
            #expect(refused.code == .unavailable)
            #expect(refused.retryAfter != nil)
            guard case .published(let published) = try await Self.answer(client, to: text) else {
                Issue.record("not published")
                return
            }
            #expect(published.seq == 1)
        }
    }

    @Test("a body comes back byte for byte")
    func bytes() async throws {
        try await RunningServer.with { server in
            let body = #"{ "b":1.00e+2 ,"a":"\u00e9é\/" }"#
            let client = try await server.client()
            try await CatchUpTests.subscribe(client)
            var received = ReceivedFrame()
            try await CatchUpTests.receive(client, into: &received)
            try await client.send(
                text: #"{"body":\#(body),"id":"m","channelId":"general","type":"publish"}"#)
            while received.events.isEmpty { received.take(try await client.nextFrame()) }
            #expect(received.events[0].body == Array(body.utf8))
        }
    }
}
