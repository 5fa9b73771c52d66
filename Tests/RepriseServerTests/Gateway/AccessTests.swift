import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Synchronization
import Testing

@Suite("Rights of a user")
struct AccessTests {
    let general = channel()

    static func publish(
        _ name: String = "general", id: EntryID = .random(),
        change: MessageChange<EntryID>? = nil
    ) -> ClientFrame {
        .publish(
            .init(channel: channel(name), id: id, change: change, body: json(bytes: 10)))
    }

    static func refusal(_ frame: ServerFrame) -> (channel: String?, id: String?, RefusalCode)? {
        guard case .refused(let refused) = frame else { return nil }
        return (refused.channel, refused.id, refused.code)
    }

    @Test(
        "a user without rights is refused a subscribe, a publish and a receipt, each with its own answer"
    )
    func refused() async throws {
        try await RunningServer.withUsers { server, accounts in
            accounts.set(.nothing, of: user("eve"), in: general)
            let client = try await server.client(as: "eve")
            try await client.send(
                .subscribe([.init(channel: general, epoch: nil, coverage: .init())]))
            let first = try #require(Self.refusal(try await client.nextFrame()))
            #expect(first == ("general", nil, .forbidden))
            let id = EntryID.random()
            try await client.send(Self.publish(id: id))
            let second = try #require(Self.refusal(try await client.nextFrame()))
            #expect(second == ("general", id.text, .forbidden))
            try await client.send(.receipt(.init(channel: general, read: 1)))
            let third = try #require(Self.refusal(try await client.nextFrame()))
            #expect(third == ("general", nil, .forbidden))
            try await client.send(.typing(general, isTyping: true))
            #expect(try await client.everythingSoFar().isEmpty, "typing is not worth an answer")
            try await server.fill(general, messages: 1)
            #expect(try await client.everythingSoFar().isEmpty)
            #expect(accounts.state.withLock { $0.moves } == 0)
        }
    }

    @Test("a fresh token that makes an admin of a user, or a user of an admin, counts at once")
    func renewed() async throws {
        try await RunningServer.withUsers { server, accounts in
            accounts.set(.nothing, of: user("eve"), in: general)
            let client = try await server.client(as: "eve", isAdmin: true)
            for (role, mayPublish) in [("admin", true), ("user", false), ("admin", true)] {
                try await client.send(.authenticate(try AccessToken("\(role).eve.x")))
                try await client.send(Self.publish())
                var answer: ServerFrame?
                while answer == nil {
                    switch try await client.nextFrame() {
                    case .published(let frame): answer = .published(frame)
                    case .refused(let frame): answer = .refused(frame)
                    default: continue
                    }
                }
                let isPublished = if case .published? = answer { true } else { false }
                #expect(isPublished == mayPublish, "as \(role)")
            }
        }
    }

    @Test("a message carries its author")
    func from() async throws {
        try await RunningServer.withUsers { server, _ in
            let (ada, ben) = (
                try await server.client(as: "ada"), try await server.client(as: "ben")
            )
            try await ben.subscribe(general)
            try await ada.send(Self.publish())
            guard case .published = try await ada.nextFrame() else {
                Issue.record("not published")
                return
            }
            guard case .event(let event) = try await ben.nextFrame() else {
                Issue.record("no event")
                return
            }
            #expect(event.from == user("ada"))
        }
    }

    @Test(
        "a user's rights in a channel are looked up once, and the frames of the channel keep their order"
    )
    func askedOnce() async throws {
        try await RunningServer.withUsers { server, accounts in
            accounts.change { $0.delay = .milliseconds(30) }
            let client = try await server.client(as: "ada")
            let ids = (0..<50).map { _ in EntryID.random() }
            try await client.send(
                ids.map { Self.publish(id: $0) }
                    + [.subscribe([.init(channel: general, epoch: nil, coverage: .init())])])
            var published: [EntryID] = []
            var sequences: [Int64] = []
            while sequences.count < 50 {
                switch try await client.nextFrame() {
                case .published(let answer):
                    published.append(answer.id)
                case .event(let event): sequences.append(event.seq)
                default: break
                }
            }
            while published.count < 50 {
                if case .published(let answer) = try await client.nextFrame() {
                    published.append(answer.id)
                }
            }
            #expect(published == ids)
            #expect(sequences == (1...50).map { $0 })
            #expect(accounts.state.withLock { $0.questions } == 1)
        }
    }

    @Test(
        "a connection looks up rights of 32 channels in a turn, and then other connections have theirs",
        .limit("server.permissionQueries"))
    func turns() async throws {
        var limits = ServerLimits()
        limits.logReaders = 1
        try await RunningServer.withUsers(limits) { server, accounts in
            accounts.change { $0.delay = .milliseconds(10) }
            let (ada, ben) = (
                try await server.client(as: "ada"), try await server.client(as: "ben")
            )
            try await ada.send(
                .subscribe(
                    (0..<100).map {
                        .init(channel: channel("ada-\($0)"), epoch: nil, coverage: .init())
                    }))
            try await eventually("Ada's grants are asked for", every: .milliseconds(1)) {
                accounts.state.withLock { !$0.asked.isEmpty }
            }
            try await ben.subscribe(channel("ben"))
            let asked = accounts.state.withLock { $0.asked }
            let place = try #require(asked.firstIndex(of: channel("ben")))
            #expect(place.isMultiple(of: 32) && place < 100, "it was asked after \(place)")
        }
    }

    @Test("an unsubscribe does not overtake the subscribe that waits")
    func unsubscribeWaits() async throws {
        try await RunningServer.withUsers { server, accounts in
            accounts.change { $0.delay = .milliseconds(30) }
            let client = try await server.client(as: "ada")
            try await client.send([
                .subscribe([.init(channel: general, epoch: nil, coverage: .init())]),
                .unsubscribe([general]), Self.publish("other"),
            ])
            while true {
                if case .published = try await client.nextFrame() { break }
            }
            try await server.fill(general, messages: 1)
            let rest = try await client.everythingSoFar()
            #expect(!rest.contains { if case .event = $0 { true } else { false } })
        }
    }

    @Test("a membership that is removed ends the subscription at once, and nothing comes after")
    func removed() async throws {
        try await RunningServer.withUsers { server, accounts in
            try await server.fill(general, messages: 3)
            let client = try await server.client(as: "ada")
            let tablet = try await server.client(as: "ada")
            let other = try await server.client(as: "ben")
            for each in [client, tablet, other] { try await each.subscribe(general) }
            accounts.set(.nothing, of: user("ada"), in: general)
            for each in [client, tablet] {
                let ended = try #require(Self.refusal(try await each.nextFrame()))
                #expect(ended == ("general", nil, .forbidden))
            }
            try await server.fill(general, messages: 2)
            guard case .event(let event) = try await other.nextFrame() else {
                Issue.record("others go on")
                return
            }
            #expect(event.seq == 4)
            #expect(try await client.everythingSoFar().isEmpty)
            try await client.send(Self.publish())
            let refused = try #require(Self.refusal(try await client.nextFrame()))
            #expect(refused.2 == .forbidden)
        }
    }

    @Test("a change of a channel's settings ends subscriptions, and counts for whoever has none")
    func settings() async throws {
        try await RunningServer.withUsers { server, accounts in
            let (ada, ben) = (
                try await server.client(as: "ada"), try await server.client(as: "ben")
            )
            try await ben.subscribe(general)
            try await ada.send(Self.publish())
            guard case .published = try await ada.nextFrame(),
                case .event = try await ben.nextFrame()
            else {
                Issue.record("not published")
                return
            }
            accounts.changeSettings(of: general) { state in
                for name in ["ada", "ben"] {
                    state.grants[.init(channel: general, user: user(name))] = .nothing
                }
            }
            let ended = try #require(Self.refusal(try await ben.nextFrame()))
            #expect(ended == ("general", nil, .forbidden))
            // Ada's loop has heard of it when it reads what comes after its answer.
            #expect(try await ada.everythingSoFar().isEmpty)
            try await ada.send(Self.publish())
            let refused = try #require(Self.refusal(try await ada.nextFrame()))
            #expect(refused.2 == .forbidden)
        }
    }

    @Test("rights that were read before a change of the settings, and come after it, do not count")
    func settingsMeanwhile() async throws {
        try await RunningServer.withUsers { server, accounts in
            let client = try await server.client(as: "ada")
            accounts.change { $0.holdsGrants = true }
            try await client.send(Self.publish())
            try await eventually("they were read", every: .milliseconds(1)) {
                accounts.state.withLock { $0.asked == [general] }
            }
            accounts.changeSettings(of: general) {
                $0.grants[.init(channel: general, user: user("ada"))] = .nothing
            }
            accounts.change { $0.holdsGrants = false }
            let refused = try #require(Self.refusal(try await client.nextFrame()))
            #expect(refused.2 == .forbidden)
            #expect(accounts.state.withLock { $0.asked } == [general, general])
        }
    }

    @Test(
        "while a user's rights are looked up again, nothing is sent; if he keeps them, he misses nothing"
    )
    func inQuestion() async throws {
        try await RunningServer.withUsers { server, accounts in
            let client = try await server.client(as: "ada")
            try await client.subscribe(general)
            let other = try await server.client(as: "ben")
            try await other.subscribe(general)
            accounts.change { $0.holdsAnswers = true }
            accounts.set(Grant(mayRead: true, mayPublish: false), of: user("ada"), in: general)
            try await server.fill(general, messages: 5)
            var told = ReceivedFrame()
            while told.events.count < 5 { told.take(try await other.nextFrame()) }
            #expect(try await client.everythingSoFar().isEmpty, "nothing is sent")
            accounts.change { $0.holdsAnswers = false }
            var received = ReceivedFrame()
            while received.completed.isEmpty { received.take(try await client.nextFrame()) }
            #expect(received.subscribed.count == 1, "it was held, and caught up")
            #expect(received.events.map(\.seq) == [1, 2, 3, 4, 5])
            try await client.send(Self.publish())
            let refused = try #require(Self.refusal(try await client.nextFrame()))
            #expect(refused.2 == .forbidden, "what it may publish has changed too")
        }
    }

    @Test("rights that change while they are looked up again are one request, not many")
    func changesOften() async throws {
        var limits = ServerLimits()
        limits.publishesInFlight = 2
        try await RunningServer.withUsers(limits) { server, accounts in
            let client = try await server.client(as: "ada")
            try await client.subscribe(general)
            accounts.change { $0.holdsAnswers = true }
            for _ in 0..<3 {
                accounts.set(Grant(mayRead: true, mayPublish: true), of: user("ada"), in: general)
            }
            // With two requests that wait, the connection is read once more at most.
            for _ in 0..<3 { #expect(try await client.everythingSoFar().isEmpty) }
            accounts.change { $0.holdsAnswers = false }
            try await server.fill(general, messages: 1)
            var received = ReceivedFrame()
            while received.events.isEmpty { received.take(try await client.nextFrame()) }
            #expect(received.events.map(\.seq) == [1])
        }
    }

    @Test("a removal in the middle of a catch-up stops it")
    func removedInCatchUp() async throws {
        var limits = ServerLimits()
        limits.pageMessages = 10
        try await RunningServer.withUsers(limits) { server, accounts in
            try await server.fill(general, messages: 500)
            server.log.change { $0.readDelay = .milliseconds(50) }
            let client = try await server.client(as: "ada")
            try await client.send(
                .subscribe([.init(channel: general, epoch: nil, coverage: .init())]))
            var events = 0
            while events < 20 { if case .event = try await client.nextFrame() { events += 1 } }
            accounts.set(.nothing, of: user("ada"), in: general)
            while true {
                let frame = try await client.nextFrame()
                if case .event = frame { events += 1 }
                if case .refused = frame { break }
            }
            #expect(events < 500)
            try await Task.sleep(for: .milliseconds(30))
            #expect(try await client.everythingSoFar().isEmpty)
        }
    }

    @Test("messages from before a user joined are gone for him, without a read of the log")
    func beforeJoin() async throws {
        try await RunningServer.withUsers { server, accounts in
            try await server.fill(general, messages: 20)
            accounts.set(
                Grant(mayRead: true, mayPublish: true, joined: 12), of: user("ada"), in: general)
            let client = try await server.client(as: "ada")
            var coverage = Coverage()
            coverage.insert(after: 3, through: 5)
            var received = ReceivedFrame()
            for frame in try await client.subscribe(general, coverage: coverage) {
                received.take(frame)
            }
            #expect(received.events.map(\.seq) == (13...20).map { $0 })
            #expect(
                received.gone.map(\.range) == [
                    SequenceRange(after: 0, through: 3), SequenceRange(after: 5, through: 12),
                ])
            #expect(received.gone.allSatisfy { $0.reason == .beforeJoin })
        }
    }

    @Test(
        "a user who leaves and joins again gets no messages from between, also on a connection that stayed open"
    )
    func joinsAgain() async throws {
        try await RunningServer.withUsers { server, accounts in
            try await server.fill(general, messages: 2)
            let client = try await server.client(as: "ada")
            try await client.subscribe(general)
            accounts.set(.nothing, of: user("ada"), in: general)
            #expect(Self.refusal(try await client.nextFrame()) != nil)
            try await server.fill(general, messages: 3)
            accounts.set(
                Grant(mayRead: true, mayPublish: true, joined: 5), of: user("ada"), in: general)
            try await server.fill(general, messages: 1)
            var received = ReceivedFrame()
            for frame in try await client.subscribe(general, coverage: Coverage(through: 2)) {
                received.take(frame)
            }
            #expect(
                received.gone == [
                    Gone(
                        range: try #require(SequenceRange(after: 2, through: 5)),
                        reason: .beforeJoin)
                ])
            #expect(received.events.map(\.seq) == [6])
        }
    }

    @Test(
        "while accounts are unavailable, requests are refused for now and a subscription is silent"
    )
    func accountsFail() async throws {
        try await RunningServer.withUsers { server, accounts in
            accounts.change { $0.failures = 1 }
            let client = try await server.client(as: "ada")
            try await client.send(Self.publish())
            guard case .refused(let refused) = try await client.nextFrame() else {
                Issue.record("not refused")
                return
            }
            #expect(refused.code == .unavailable)
            #expect(refused.retryAfter != nil)
            try await client.subscribe(general)
            accounts.change { $0.failures = 1 }
            accounts.set(Grant(mayRead: true, mayPublish: true), of: user("ada"), in: general)
            try await server.fill(general, messages: 1)
            var received = ReceivedFrame()
            while received.events.isEmpty { received.take(try await client.nextFrame()) }
            #expect(received.events.map(\.seq) == [1])
        }
    }

    @Test(
        "an open server looks up no rights, and refuses receipts and typing without closing the connection"
    )
    func open() async throws {
        try await RunningServer.with { server in
            let client = try await server.client()
            try await client.subscribe(general)
            try await client.send([
                .receipt(.init(channel: general, read: 1)), .typing(general, isTyping: true),
            ])
            for _ in 0..<2 {
                let refused = try #require(Self.refusal(try await client.nextFrame()))
                #expect(refused == (nil, nil, .forbidden))
            }
            try await server.fill(general, messages: 1)
            guard case .event(let event) = try await client.nextFrame() else {
                Issue.record("the subscription has ended")
                return
            }
            #expect(event.from == nil)
        }
    }
}
