import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Pushing what was stored", .timeLimit(.minutes(2)))
struct PushDispatchTests {
    @Test(
        "a message goes to each device of each member but its author, once, after five seconds",
        arguments: AccountsPlace.all)
    func reaches(place: AccountsPlace) async throws {
        try await withPush(at: place) { push in
            try await push.make(title: "The room", members: ["ada", "bob", "eve"])
            try await push.register("phone-a", of: "ada")
            try await push.register("phone-b", of: "bob")
            try await push.register("pad-b", of: "bob")
            try await push.publish("m1", from: "ada", body: #"{"text":"Hi"}"#)
            try await push.pass(.milliseconds(4_500))
            #expect(push.provider.pushes.isEmpty, "nobody had five seconds")
            try await push.until(pushes: 2)
            try await push.untilQueueIsEmpty()
            try await push.pass(.seconds(10))
            #expect(push.provider.pushes.count == 2)
            let first = try #require(push.provider.pushes.first)
            #expect(first.title == "The room" && first.body == "Hi" && !first.isQuiet)
            #expect(first.collapse == "m1" && first.hint.channel == channel("room"))
            #expect(first.hint.badge?.count == 1 && first.hint.head == 1)
            #expect(first.hint.to?.text == "bob")
            #expect(push.count("sent") == 2)
        }
    }

    @Test(
        "a message is time-sensitive if an owner, or no user, asks for it; each says who its author is",
        arguments: [("ada", false), ("olga", true), (nil, true)] as [(String?, Bool)])
    func timeSensitive(author: String?, isHeard: Bool) async throws {
        try await withPush { push in
            try await push.make(title: "The room", members: ["ada", "bob"])
            try await push.accounts.setMember(
                try UserID("olga"), role: .owner, joined: 0, in: channel("room"),
                at: push.clock.wall())
            try await push.register("phone-b", of: "bob")
            let notice =
                #"{"interruption":"time-sensitive","relevance":0.5,"sender":"A. L.","sound":"a.caf"}"#
            try await push.publish(
                "m1", from: author, body: #"{"text":"Hi","notice":\#(notice)}"#)
            try await push.until(pushes: 1)
            let sent = try #require(push.provider.pushes.first)
            #expect(sent.isTimeSensitive == isHeard && sent.relevance == 0.5)
            #expect(sent.sound == "a.caf")
            #expect(sent.hint.sender == (author == nil ? nil : "A. L."))
            #expect(sent.hint.title == (author == nil ? nil : "The room"))
        }
    }

    @Test(
        "outcomes are stored 256 together while other pushes are under way", .limit("push.answers"))
    func settledTogether() async throws {
        try await withHeld(pushes: 300) { push in
            push.provider.release(255)
            try await eventually("255 are answered") { push.count("sent") == 255 }
            #expect(try await push.accounts.pushQueue.count(.apns) == 300)
            push.provider.release(1)
            try await eventually("256 are written down") {
                try await push.accounts.pushQueue.count(.apns) == 44
            }
        }
    }

    @Test(
        "outcomes are stored after 50 ms while other pushes are under way", .limit("push.answers"))
    func settledWithin() async throws {
        try await withHeld(pushes: 10) { push in
            push.provider.release(8)
            try await eventually("8 are answered") { push.count("sent") == 8 }
            #expect(try await push.accounts.pushQueue.count(.apns) == 10)
            push.clock.advance(by: .milliseconds(50))
            try await eventually("8 are written down") {
                try await push.accounts.pushQueue.count(.apns) == 2
            }
        }
    }

    /// So many pushes are under way, none of them is answered, and time stands still.
    private func withHeld(
        pushes count: Int, _ body: (PushUnderTest) async throws -> Void
    ) async throws {
        let provider = RecordingProvider(concurrency: 600)
        provider.holds()
        try await withPush(provider) { push in
            let people = (0..<count / 10).map { "user-\($0)" }
            try await push.make(members: people)
            for user in people {
                for device in 0..<10 { try await push.register("\(user)-\(device)", of: user) }
            }
            try await push.publish("m1")
            try await push.until(pushes: count)
            try await eventually("all are under way") { provider.held == count }
            try await body(push)
        }
    }

    @Test(
        "a device that has received the message itself is not pushed, its user's other one is",
        arguments: AccountsPlace.all)
    func delivered(place: AccountsPlace) async throws {
        try await withPush(at: place) { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob", token: "aa01")
            try await push.register("pad", of: "bob", token: "aa02")
            let seq = try await push.publish("m1")
            try await push.move("bob", delivered: seq, on: "phone")
            try await push.until(pushes: 1)
            try await push.untilQueueIsEmpty()
            #expect(push.provider.pushes.map(\.address) == [.apns(try PushToken("aa02"))])
        }
    }

    @Test(
        "a message that is read, deleted, expired or whose channel was left meanwhile is not pushed",
        .limit("push.life"), arguments: AccountsPlace.all)
    func stale(place: AccountsPlace) async throws {
        // Down, so that everything waits in the queue, and one at a time, so that none is on its
        // way when it comes back.
        let provider = RecordingProvider(concurrency: 1) { _, _ in
            .unavailable(.seconds(120), "down")
        }
        try await withPush(at: place, provider) { push in
            for name in ["bob", "eve", "kim", "lee"] {
                try await push.make("to-\(name)", members: [name])
                try await push.register("phone-\(name)", of: name)
                let ttl = name == "lee" ? #","notice":{"ttl":30}"# : ""
                try await push.publish(
                    "m-\(name)", in: "to-\(name)", body: #"{"text":"x"\#(ttl)}"#)
            }
            try await push.until(pushes: 1)
            try await push.clock.advance(by: .milliseconds(500)) {
                try await push.accounts.pushQueue.count(.apns) == 4
            }
            try await push.move("bob", read: 1, in: "to-bob")
            try await push.publish(
                "gone", in: "to-eve", change: .deletes(try EntryID("m-eve")))
            try await push.accounts.removeMember(
                try UserID("kim"), from: channel("to-kim"))
            let before = provider.pushes.count
            provider.answer { _, _ in .accepted }
            try await push.pass(.seconds(130), step: .seconds(1))
            try await push.untilQueueIsEmpty()
            #expect(provider.pushes.count == before, "\(provider.ids)")
            #expect(push.count("read") == 1 && push.count("gone") == 1)
            #expect(push.count("left") == 1 && push.count("expired") == 1)
        }
    }

    @Test(
        "edits, deletions and messages that ask for no notice are not pushed",
        arguments: AccountsPlace.all)
    func silent(place: AccountsPlace) async throws {
        try await withPush(at: place) { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            try await push.publish("m1", body: #"{"text":"a","notice":false}"#)
            try await push.publish("m2", body: #"{"text":"b"}"#)
            try await push.publish(
                "m3", body: #"{"text":"c"}"#, change: .edits(try EntryID("m2")))
            try await push.until(pushes: 1)
            try await push.untilQueueIsEmpty()
            #expect(push.provider.ids == ["m2"])
        }
    }

    @Test(
        "a dead address is never used again, unless the device has named it since",
        arguments: AccountsPlace.all)
    func dead(place: AccountsPlace) async throws {
        try await withPush(at: place) { push in
            try await push.make(members: ["bob", "eve"])
            try await push.register("phone", of: "bob", token: "dead")
            try await push.register("other", of: "eve", token: "beef")
            let died = push.clock.wall().advanced(by: .seconds(-60))
            push.provider.answer { push, _ in
                if case .apns(let token) = push.address, token.text == "beef" {
                    return .dead(since: died)
                }
                return .dead(since: nil)
            }
            try await push.publish("m1")
            try await push.until(pushes: 2)
            try await push.untilQueueIsEmpty()
            let bob = try await push.accounts.devices.all(of: try UserID("bob"))
            let eve = try await push.accounts.devices.all(of: try UserID("eve"))
            #expect(bob.map(\.pushToken) == [nil])
            #expect(eve.map { $0.pushToken?.text } == ["beef"], "she has named it since it died")
            push.provider.answer { _, _ in .accepted }
            try await push.publish("m2")
            try await push.until(pushes: 3)
            try await push.untilQueueIsEmpty()
            #expect(push.provider.pushes.count == 3)
        }
    }

    @Test(
        "a user without a device has no queued pushes, and a device that registers is not pushed older messages",
        arguments: AccountsPlace.all)
    func late(place: AccountsPlace) async throws {
        try await withPush(at: place) { push in
            try await push.make(members: ["bob"])
            try await push.publish("m1")
            try await push.clock.advance(by: .milliseconds(500)) {
                try await push.accounts.pushQueue.scans.scan(.apns, in: channel("room"))?.through
                    == 1
            }
            try await push.register("phone", of: "bob")
            try await push.publish("m2")
            try await push.until(pushes: 1)
            try await push.untilQueueIsEmpty()
            #expect(push.provider.ids == ["m2"])
        }
    }

    @Test(
        "pushes that wait behind one whose address turns out to be dead are not sent there",
        arguments: AccountsPlace.all)
    func deadBehind(place: AccountsPlace) async throws {
        let provider = RecordingProvider(concurrency: 1) { _, _ in .dead(since: nil) }
        try await withPush(at: place, provider) { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            for number in 0..<5 { try await push.publish("m\(number)") }
            try await push.until(pushes: 1)
            try await push.untilQueueIsEmpty()
            #expect(provider.pushes.count == 1)
            #expect(push.count("unregistered") == 4 && push.count("dead") == 1)
        }
    }

    @Test(
        "a token that another user registers takes the pushes of the first with it",
        arguments: AccountsPlace.all)
    func moves(place: AccountsPlace) async throws {
        let provider = RecordingProvider { _, _ in .unavailable(.seconds(60), "down") }
        try await withPush(at: place, provider) { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob", token: "aa01")
            try await push.publish("m1")
            try await push.until(pushes: 1)
            try await push.register("phone", of: "eve", token: "aa01")
            provider.answer { _, _ in .accepted }
            try await push.pass(.seconds(61), step: .seconds(1))
            try await push.untilQueueIsEmpty()
            #expect(provider.pushes.count == 1 && push.count("unregistered") == 1)
        }
    }

    @Test(
        "reading on one device removes the banner on the others, and corrects their badge",
        arguments: AccountsPlace.all)
    func dismiss(place: AccountsPlace) async throws {
        try await withPush(at: place) { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob", token: "aa01")
            try await push.register("pad", of: "bob", token: "aa02")
            try await push.publish("m1")
            try await push.publish("m2")
            try await push.until(pushes: 4)
            try await push.untilQueueIsEmpty()
            try await push.move("bob", read: 1, on: "phone")
            try await push.move("bob", read: 2, on: "phone")
            try await push.until(pushes: 6)
            try await push.untilQueueIsEmpty()
            let last = push.provider.pushes.suffix(2)
            #expect(last.allSatisfy { $0.address == .apns((try? PushToken("aa02")) ?? $0.token) })
            #expect(Set(last.map(\.hint.kind)) == [.badge, .dismiss])
            #expect(last.allSatisfy { $0.hint.seq == 2 && $0.hint.badge?.count == 0 })
            try await push.move("bob", read: 2, on: "phone")
            try await push.pass(.seconds(5))
            #expect(push.provider.pushes.count == 6, "nothing was new")
        }
    }

    @Test("a calendar that is set back by days does not hold up a push that waits")
    func setBack() async throws {
        let provider = RecordingProvider { _, count in
            count == 0 ? .later(.seconds(30), "429") : .accepted
        }
        try await withPush(provider) { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            let seq = try await push.publish("m1")
            try await push.until(pushes: 1)
            try await eventually("its wait is recorded") {
                let waiting = try await push.accounts.pushQueue.waiting(
                    for: seq, in: channel("room"), of: try UserID("bob"))
                return waiting?.first?.attempts == 1
            }
            push.clock.jumpWall(by: .seconds(-2 * 86_400))
            try await push.until(pushes: 2)
            try await push.untilQueueIsEmpty()
            #expect(provider.ids == ["m1", "m1"])
        }
    }

    @Test(
        "a device gets no more than its share at once; the rest comes later, and none is lost",
        .limit("push.deviceRate"))
    func rate() async throws {
        try await withPush { push in
            try await push.make(members: ["bob"])
            try await push.register("phone", of: "bob")
            for number in 0..<30 { try await push.publish("m\(number)") }
            let began = push.clock.uptime()
            try await push.until(pushes: 30)
            let took = push.clock.uptime() - began
            #expect(took >= .seconds(15), "20 at once, then one a second: \(took)")
            try await push.untilQueueIsEmpty()
            #expect(Set(push.provider.ids).count == 30)
        }
    }
}

extension Push {
    fileprivate var token: PushToken {
        guard case .apns(let token) = address else { preconditionFailure("not of APNs") }
        return token
    }
}
