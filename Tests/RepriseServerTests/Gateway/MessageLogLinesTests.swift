import Logging
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Log lines of messages and catch-ups", .timeLimit(.minutes(1)))
struct MessageLogLinesTests {
    @Test("each outcome of a publish is a line with its id, channel and sequence, without its body")
    func outcomes() async throws {
        let lines = LoggedLines()
        try await RunningServer.with(logger: lines.logger()) { server in
            let client = try await server.client()
            let known = #"{"type":"publish","channelId":"c","id":"known","body":"a secret"}"#
            let foreign = #"{"type":"publish","channelId":"d","id":"known","body":"a secret"}"#
            for text in [known, known, foreign] {
                _ = try await PublishingTests.answer(client, to: text)
            }
        }
        #expect(
            lines.with("message", "known") == [
                "debug A message is stored. channel=c message=known seq=1",
                "debug A message was stored before. channel=c message=known seq=1",
                "debug A message is refused. channel=d code=conflict message=known "
                    + "reason=Another channel has this id.",
            ])
        #expect(!lines.all.contains { $0.contains("a secret") })
    }

    @Test("a catch-up is a line at its beginning and at its end: backlog, holes, messages, time")
    func catchUp() async throws {
        let lines = LoggedLines()
        var limits = ServerLimits()
        limits.pageMessages = 7
        try await RunningServer.with(limits, logger: lines.logger()) { server in
            try await server.fill(channel(), messages: 30)
            var coverage = Coverage(through: 10)
            coverage.insert(after: 20, through: 25)
            let client = try await server.client(device: EntryID("phone"))
            try await CatchUpTests.subscribe(client, coverage)
            var received = ReceivedFrame()
            try await CatchUpTests.receive(client, into: &received)
            // The line is written before the frame that ends the catch-up.
            let told = lines.all.filter { $0.contains("catch-up") }
            let names = "backlog=15 channel=general connection=1 device=phone"
            #expect(told.first == "debug A catch-up has begun. \(names) holes=2")
            let end = "debug A catch-up has ended. \(names) events=15 holes=2 milliseconds="
            let last = try #require(told.last)
            #expect(told.count == 2 && last.hasPrefix(end), "\(told)")
            #expect(Int(last.dropFirst(end.count)) != nil, "\(last)")
        }
    }

    @Test("a catch-up whose connection ends is cut off, with what was sent by then")
    func cutOff() async throws {
        let lines = LoggedLines()
        var limits = ServerLimits()
        limits.pageMessages = 1
        try await RunningServer.with(limits, logger: lines.logger()) { server in
            try await server.fill(channel(), messages: 2_000)
            server.log.change { $0.readDelay = .milliseconds(20) }
            do {
                let client = try await server.client()
                try await CatchUpTests.subscribe(client)
                var received = ReceivedFrame()
                while received.subscribed.isEmpty { received.take(try await client.nextFrame()) }
            }
            try await eventually("its end is logged") {
                lines.all.contains { $0.hasPrefix("debug A catch-up was cut off. backlog=2000 ") }
            }
            #expect(!lines.all.contains { $0.contains("A catch-up has ended.") })
        }
    }

    @Test("a live event is a line at trace for each connection, and none at debug")
    func live() async throws {
        for (level, isThere) in [(Logger.Level.trace, true), (.debug, false)] {
            let lines = LoggedLines()
            try await RunningServer.with(logger: lines.logger(level)) { server in
                let client = try await server.client(device: EntryID("phone"))
                try await CatchUpTests.subscribe(client)
                var received = ReceivedFrame()
                try await CatchUpTests.receive(client, into: &received)
                try await server.fill(channel(), messages: 1)
                while received.events.isEmpty { received.take(try await client.nextFrame()) }
            }
            let line =
                "trace Events are sent. after=0 channel=general connection=1 device=phone through=1"
            #expect(lines.all.contains(line) == isThere, "\(lines.all)")
        }
    }

    @Test("a log at info has no line of a message, a connection or a catch-up")
    func quiet() async throws {
        let lines = LoggedLines()
        try await RunningServer.with(logger: lines.logger(.info)) { server in
            try await server.fill(channel(), messages: 10)
            let client = try await server.client()
            try await CatchUpTests.subscribe(client)
            var received = ReceivedFrame()
            try await CatchUpTests.receive(client, into: &received)
            _ = try await PublishingTests.answer(
                client, to: #"{"type":"publish","channelId":"c","id":"m","body":1}"#)
        }
        #expect(lines.all.allSatisfy { !$0.hasPrefix("debug") && !$0.hasPrefix("info A ") })
        #expect(!lines.all.contains { $0.contains("message=") || $0.contains("connection=") })
    }
}
