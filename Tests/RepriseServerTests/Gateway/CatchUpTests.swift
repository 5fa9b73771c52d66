import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Synchronization
import Testing

/// What one subscription was sent, kept as sloppily or as strictly as a test needs.
struct ReceivedFrame {
    var coverage = Coverage()
    var events: [ServerFrame.Event] = []
    var gone: [Gone] = []
    var subscribed: [ServerFrame.Subscribed] = []
    var completed: [ServerFrame.SyncComplete] = []
    var heads: [Int64] = []

    /// Takes a frame; an event or a gone that says what was said before is an issue.
    mutating func take(_ frame: ServerFrame) {
        switch frame {
        case .event(let event):
            events.append(event)
            cover(SequenceRange(after: event.prev, through: event.seq))
        case .gone(_, let gone):
            self.gone.append(gone)
            cover(gone.range)
        case .subscribed(let subscribed): self.subscribed.append(subscribed)
        case .syncComplete(let complete): completed.append(complete)
        case .heartbeat(_, let heads): self.heads += heads.values
        case .welcome, .published, .refused, .error, .authenticated, .positions, .receipt,
            .typing, .presence:
            break
        }
    }

    private mutating func cover(_ range: SequenceRange?) {
        guard let range else {
            Issue.record("an impossible range")
            return
        }
        let overlaps = coverage.ranges.contains {
            $0.after < range.through && range.after < $0.through
        }
        if overlaps { Issue.record("\(range) came twice") }
        coverage.insert(range)
    }
}

@Suite("Catch-up")
struct CatchUpTests {
    static func subscribe(
        _ client: TestClient, _ coverage: Coverage = Coverage(), epoch: String? = "e1"
    ) async throws {
        try await client.send(
            .subscribe([
                .init(
                    channel: channel(), epoch: try epoch.map { try Epoch($0) }, coverage: coverage)
            ]))
    }

    static func receive(
        _ client: TestClient, into received: inout ReceivedFrame, untilComplete count: Int = 1
    ) async throws {
        while received.completed.count < count { received.take(try await client.nextFrame()) }
    }

    @Test("a channel without messages is complete at 0")
    func emptyChannel() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            try await Self.subscribe(client)
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received)
            #expect(received.subscribed.map(\.head) == [0])
            #expect(received.completed.map(\.through) == [0])
            #expect(received.coverage.isEmpty)
        }
    }

    @Test("a catch-up sends exactly the complement of the coverage, over many pages")
    func complement() async throws {
        var limits = ServerLimits()
        limits.pageMessages = 7
        try await RunningServer.with(limits) { server in
            try await server.fill(channel(), messages: 200)
            _ = try await server.log.trim(channel(), through: 12)
            var coverage = Coverage()
            coverage.insert(after: 5, through: 20)
            coverage.insert(after: 33, through: 34)
            coverage.insert(after: 90, through: 150)
            let client = try await server.client()
            try await Self.subscribe(client, coverage)
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received)
            #expect(received.coverage.ranges == coverage.complement(through: 200))
            #expect(
                received.gone.map(\.range) == [try #require(SequenceRange(after: 0, through: 5))])
            #expect(received.gone.map(\.reason) == [.retention])
            #expect(received.subscribed.map(\.floor) == [12])
            #expect(received.completed.map(\.through) == [200])
        }
    }

    @Test("sequences that were never used are within an event's range, not missing")
    func gaps() async throws {
        try await RunningServer.with { server in
            try await server.fill(channel(), messages: 3)
            server.log.change { $0.gap = 4 }
            try await server.fill(channel(), messages: 2)
            let client = try await server.client()
            try await Self.subscribe(client, Coverage(through: 2))
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received)
            #expect(received.events.map(\.seq) == [3, 8, 9])
            #expect(received.events.map(\.prev) == [2, 3, 8])
            #expect(received.coverage.ranges == Coverage(through: 2).complement(through: 9))
        }
    }

    @Test(
        "while a publisher publishes at full speed nothing is left out and nothing comes twice",
        arguments: [false, true])
    func fullSpeed(isLogSlow: Bool) async throws {
        var limits = ServerLimits()
        limits.pageMessages = 100
        try await RunningServer.with(limits) { server in
            if isLogSlow { server.log.change { $0.readDelay = .milliseconds(20) } }
            try await server.fill(channel(), messages: 2_000)
            let total = 8_000
            let hasSubscribed = Mutex(false)
            async let publishing: Void = {
                for batch in 1...(total - 2_000) / 50 {
                    // The last one waits for the first subscriber: so they race.
                    while batch == (total - 2_000) / 50, !hasSubscribed.withLock(\.self) {
                        try await Task.sleep(for: .milliseconds(1))
                    }
                    try await server.fill(channel(), messages: 50)
                    await Task.yield()
                }
            }()
            for through in [0, 17, 1_500] as [Int64] {
                let client = try await server.client()
                var coverage = Coverage(through: through)
                coverage.insert(after: 1_800, through: 1_900)
                try await Self.subscribe(client, coverage)
                var received = ReceivedFrame()
                while received.coverage.top < total || received.completed.isEmpty {
                    received.take(try await client.nextFrame())
                    if !received.subscribed.isEmpty { hasSubscribed.withLock { $0 = true } }
                }
                #expect(received.coverage.ranges == coverage.complement(through: Int64(total)))
            }
            try await publishing
        }
    }

    @Test("asking again for holes is answered again, in the same subscription")
    func askAgain() async throws {
        try await RunningServer.with { server in
            try await server.fill(channel(), messages: 10)
            let client = try await server.client()
            try await Self.subscribe(client, Coverage(through: 10))
            var first = ReceivedFrame()
            try await Self.receive(client, into: &first)
            #expect(first.events.isEmpty)
            try await Self.subscribe(client, Coverage(through: 4))
            var second = ReceivedFrame()
            try await Self.receive(client, into: &second)
            #expect(second.events.map(\.seq) == [5, 6, 7, 8, 9, 10])
            try await server.fill(channel(), messages: 1)
            second.take(try await client.nextFrame())
            #expect(second.events.last?.seq == 11)
        }
    }

    @Test("coverage beyond the head is answered with reset and everything, for that device alone")
    func beyondTheHead() async throws {
        try await RunningServer.with { server in
            try await server.fill(channel(), messages: 10)
            let other = try await server.client()
            try await Self.subscribe(other, Coverage(through: 8))
            let client = try await server.client()
            try await Self.subscribe(client, Coverage(through: 11))
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received)
            #expect(received.subscribed.map(\.reset) == [true])
            #expect(received.events.map(\.seq) == Array(1...10))
            var untouched = ReceivedFrame()
            try await Self.receive(other, into: &untouched)
            #expect(untouched.subscribed.map(\.reset) == [false])
            #expect(untouched.events.map(\.seq) == [9, 10])
        }
    }

    @Test("another epoch is answered with the real one and everything", arguments: ["e0", nil])
    func otherEpoch(_ epoch: String?) async throws {
        try await RunningServer.with { server in
            try await server.fill(channel(), messages: 10)
            let client = try await server.client()
            try await Self.subscribe(client, Coverage(through: 7), epoch: epoch)
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received)
            #expect(received.subscribed.map(\.epoch.text) == ["e1"])
            #expect(received.subscribed.map(\.reset) == [epoch == nil])
            #expect(received.events.map(\.seq) == Array(1...10))
        }
    }

    @Test("a log that cannot be read for a moment delays a catch-up, and does not end it")
    func readFailure() async throws {
        try await RunningServer.with { server in
            try await server.fill(channel(), messages: 10)
            server.log.change { $0.readFailures = 1 }
            let client = try await server.client()
            try await Self.subscribe(client)
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received)
            #expect(received.events.map(\.seq) == Array(1...10))
        }
    }

    @Test("subscribers get the messages that a failed commit stored nevertheless")
    func failedCommit() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            try await Self.subscribe(client)
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received)
            server.log.change { $0.failures = 1 }
            await #expect(throws: RepriseError.self) {
                try await server.fill(channel(), messages: 2)
            }
            while received.events.count < 2 { received.take(try await client.nextFrame()) }
            try await server.fill(channel(), messages: 1)
            while received.events.count < 3 { received.take(try await client.nextFrame()) }
            #expect(received.events.map(\.seq) == [1, 2, 3])
        }
    }

    @Test(
        "a thousand channels in one frame are subscribed, and the next one is refused",
        .limit("wire.channels"))
    func manyChannels() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            let requests = (0..<1_000).map {
                ClientFrame.Subscription(
                    channel: channel("c\($0)"), epoch: nil, coverage: Coverage())
            }
            try await client.send(.subscribe(requests))
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received, untilComplete: 1_000)
            #expect(Set(received.completed.map(\.channel)).count == 1_000)
            try await client.send(
                .subscribe([.init(channel: channel("more"), epoch: nil, coverage: Coverage())]))
            guard case .refused(let refused) = try await client.nextFrame() else {
                Issue.record("not refused")
                return
            }
            #expect(refused.code == .tooManyChannels)
            #expect(refused.channel == "more")
            try await client.send(.unsubscribe([channel("c1")]))
            try await client.send(
                .subscribe([.init(channel: channel("more"), epoch: nil, coverage: Coverage())]))
            try await Self.receive(client, into: &received, untilComplete: 1_001)
        }
    }

    @Test("what was read for a subscription that has ended does not answer the next one")
    func subscribedAgain() async throws {
        try await RunningServer.with { server in
            try await server.fill(channel(), messages: 1)
            let client = try await server.client()
            server.log.change { $0.stateDelay = .seconds(1) }
            try await Self.subscribe(client)
            try await eventually("the state is read") {
                server.log.state.withLock { $0.stateDelay == nil }
            }
            try await client.send(.unsubscribe([channel()]))
            try await client.socket.send(TestClient.frame(0x89, []))
            #expect(try await client.next() == .pong([]))
            // Nobody hears of this one.
            try await server.fill(channel(), messages: 1)
            try await Self.subscribe(client)
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received)
            #expect(received.subscribed.map(\.head) == [2])
            #expect(received.completed.map(\.through) == [2])
        }
    }

    @Test("after unsubscribe nothing comes any more")
    func unsubscribe() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            try await Self.subscribe(client)
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received)
            try await client.send(.unsubscribe([channel()]))
            try await client.socket.send(TestClient.frame(0x89, []))
            #expect(try await client.next() == .pong([]))
            try await server.fill(channel(), messages: 3)
            try await client.socket.send(TestClient.frame(0x89, [1]))
            #expect(try await client.next() == .pong([1]))
        }
    }

    /// The next frame that is no heartbeat without heads.
    static func notIdle(_ client: TestClient) async throws -> ServerFrame {
        while true {
            let frame = try await client.nextFrame()
            if case .heartbeat(_, let heads) = frame, heads.isEmpty { continue }
            return frame
        }
    }

    @Test("an idle client gets heartbeats without heads")
    func idleHeartbeat() async throws {
        var limits = ServerLimits()
        limits.heartbeat = .milliseconds(50)
        try await RunningServer.with(limits) { server in
            let client = try await server.client()
            for _ in 0..<5 {
                guard case .heartbeat(_, let heads) = try await client.nextFrame() else {
                    Issue.record("no heartbeat")
                    return
                }
                #expect(heads.isEmpty)
            }
        }
    }

    @Test(
        "a heartbeat has the heads that changed, after the events that they count, and no others")
    func heartbeat() async throws {
        var limits = ServerLimits()
        limits.heartbeat = .milliseconds(100)
        try await RunningServer.with(limits) { server in
            let client = try await server.client()
            try await client.send(
                .subscribe(
                    ["a", "b"].map {
                        .init(channel: channel($0), epoch: nil, coverage: Coverage())
                    }))
            var received = ReceivedFrame()
            try await Self.receive(client, into: &received, untilComplete: 2)
            for round in 1...3 as ClosedRange<Int64> {
                try await server.fill(channel("a"), messages: 1)
                guard case .event(let event) = try await Self.notIdle(client),
                    case .heartbeat(_, let heads) = try await Self.notIdle(client)
                else {
                    Issue.record("no event, or no heartbeat after it")
                    return
                }
                #expect(event.seq == round)
                #expect(heads == [channel("a"): round])
            }
        }
    }
}
