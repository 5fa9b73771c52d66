import Foundation
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Mutes, quiet hours and delivery states", .timeLimit(.minutes(2)))
struct PushSettingsTests {
    /// A moment in UTC.
    private func moment(_ text: String) throws -> WallTime {
        let date = try Date(text, strategy: .iso8601)
        return WallTime(milliseconds: Int64(date.timeIntervalSince1970 * 1_000))
    }

    @Test(
        "quiet hours follow local time, also in the nights of a daylight-saving change",
        arguments: [
            ("22:00", "07:00", "Europe/Berlin", "2026-11-22T20:59:59Z", false),
            ("22:00", "07:00", "Europe/Berlin", "2026-11-22T21:00:00Z", true),
            ("22:00", "07:00", "Europe/Berlin", "2026-11-23T05:59:59Z", true),
            ("22:00", "07:00", "Europe/Berlin", "2026-11-23T06:00:00Z", false),
            ("22:00", "07:00", "America/Los_Angeles", "2026-11-23T06:00:00Z", true),
            ("12:00", "13:30", "Asia/Kolkata", "2026-11-22T06:30:00Z", true),
            ("12:00", "13:30", "Asia/Kolkata", "2026-11-22T08:00:00Z", false),
            // 02:30 is not on the clock in that night: 01:30 UTC shows 03:30.
            ("02:00", "03:00", "Europe/Berlin", "2026-03-29T00:59:59Z", false),
            ("02:00", "03:00", "Europe/Berlin", "2026-03-29T01:30:00Z", false),
            // And in that one it is twice.
            ("02:00", "03:00", "Europe/Berlin", "2026-10-25T00:30:00Z", true),
            ("02:00", "03:00", "Europe/Berlin", "2026-10-25T01:30:00Z", true),
            ("02:00", "03:00", "Europe/Berlin", "2026-10-25T02:00:00Z", false),
            ("22:00", "07:00", "UTC", "1969-12-31T23:00:00Z", true),
        ])
    func quiet(from: String, to: String, zone: String, at: String, expected: Bool) throws {
        let hours = try QuietHours(from: from, to: to, zone: zone)
        #expect(hours.contains(try moment(at)) == expected)
        #expect(hours.startText == from && hours.endText == to)
    }

    @Test("a muted message changes the badge alone; one in quiet hours goes into the list alone")
    func mutes() async throws {
        try await withPush { push in
            let names = ["bob", "eve", "kim", "lee"]
            let (bob, eve) = (try UserID("bob"), try UserID("eve"))
            try await push.make(members: names + ["ada"])
            for (number, name) in names.enumerated() {
                try await push.register("phone-\(name)", of: name, token: "aa0\(number)")
            }
            let time = push.clock.wall()
            try await push.accounts.perform(
                SetMute(Mute(.channel(channel("room"))), of: bob), at: time)
            let end = time.advanced(by: .seconds(600))
            try await push.accounts.perform(
                SetMute(Mute(.user(try UserID("ada")), until: end), of: eve), at: time)
            let seconds = time.milliseconds / 1_000 % 86_400
            let minute = Int(seconds / 60)
            let hours = try QuietHours(
                start: minute, end: (minute + 60) % 1_440, zone: "UTC")
            try await push.accounts.perform(SetQuietHours(hours, of: try UserID("kim")))
            // A device's own come before its user's.
            let lee = try UserID("lee")
            try await push.accounts.perform(SetQuietHours(hours, of: lee))
            let other = try QuietHours(
                start: (minute + 120) % 1_440, end: (minute + 180) % 1_440, zone: "UTC")
            try await push.accounts.perform(
                SetQuietHours(other, of: lee, on: try EntryID("phone-lee")))
            try await push.publish("m1", from: "ada")
            try await push.until(pushes: 4)
            try await push.untilQueueIsEmpty()
            #expect(kinds(push, 0) == ["badge", "badge", "alert quiet", "alert"])
            // Her mute has ended.
            try await push.pass(.seconds(600), step: .seconds(10))
            try await push.publish("m2", from: "ada")
            try await push.until(pushes: 8)
            #expect(kinds(push, 4) == ["badge", "alert", "alert quiet", "alert"])
            #expect(push.provider.pushes.last?.hint.badge?.count == 2)
        }
    }

    @Test(
        "A push makes no sound for two minutes after its user read on another device, if he wants that",
        .limit("push.activeElsewhere"))
    func elsewhere() async throws {
        try await withPush { push in
            let names = ["bob", "eve"]
            try await push.make(members: names + ["ada"])
            for (number, name) in names.enumerated() {
                try await push.register("phone-\(name)", of: name, token: "aa0\(number)")
            }
            let bob = try UserID("bob")
            try await push.accounts.perform(SetSilentElsewhere(true, of: bob))
            func next(_ number: Int) async throws -> [String] {
                try await push.publish("m\(number)", from: "ada")
                func pushes() -> [Push] {
                    push.provider.pushes.filter { $0.hint.id?.text == "m\(number)" }
                }
                // Short steps: a slow machine must not let the two minutes pass.
                let deadline = ContinuousClock.now + .seconds(20)
                while pushes().count < 2, ContinuousClock.now < deadline {
                    try await push.pass(.milliseconds(20), step: .milliseconds(20))
                }
                return pushes().sorted { order($0) < order($1) }.map {
                    $0.hint.kind.rawValue + ($0.isQuiet ? " quiet" : "")
                }
            }
            #expect(try await next(1) == ["alert", "alert"])
            for name in names { try await push.move(name, read: 1, on: "desk") }
            #expect(try await next(2) == ["alert quiet", "alert"], "Eve has not asked for it")
            try await push.pass(PushPayloadLimits.activeElsewhere, step: .seconds(5))
            #expect(try await next(3) == ["alert", "alert"])
            try await push.move("bob", read: 3, on: "phone-bob")
            #expect(try await next(4) == ["alert", "alert"], "it is this device that he uses")
            try await push.move("bob", read: 4, on: "desk")
            try await push.accounts.perform(SetSilentElsewhere(false, of: bob))
            #expect(try await next(5) == ["alert", "alert"])
        }
    }

    /// In the order of the users' names.
    private func kinds(_ push: PushUnderTest, _ first: Int) -> [String] {
        push.provider.pushes.dropFirst(first)
            .sorted { "\(order($0))" < "\(order($1))" }
            .map { push in
                push.hint.kind.rawValue
                    + (push.hint.kind == .alert && push.isQuiet ? " quiet" : "")
            }
    }

    private func order(_ push: Push) -> String {
        guard case .apns(let token) = push.address else { return "" }
        return token.text
    }

    @Test("a message is stored, pushed, delivered and read, for each member")
    func deliveries() async throws {
        try await withPush { push in
            try await push.make(members: ["bob", "eve", "kim"])
            try await push.register("phone", of: "bob")
            let seq = try await push.publish("m1", from: "ada")
            func states() async throws -> [String] {
                try await push.accounts.positions.deliveries(
                    of: seq, in: channel("room"), after: nil, limit: 10
                ).map { "\($0.user) \($0.state.rawValue)" }
            }
            #expect(try await states() == ["bob stored", "eve stored", "kim stored"])
            try await push.until(pushes: 1)
            try await push.untilQueueIsEmpty()
            try await push.move("eve", delivered: seq, on: "pad")
            try await push.move("kim", read: seq)
            #expect(try await states() == ["bob pushed", "eve delivered", "kim read"])
            let page = try await push.accounts.positions.deliveries(
                of: seq, in: channel("room"), after: try UserID("bob"), limit: 1)
            #expect(page.map(\.user.text) == ["eve"])
        }
    }

    @Test("the reprise part of a push is read as it was written")
    func hints() throws {
        var hint = PushHint(kind: .alert, channel: channel("room"), seq: 7, head: 9)
        let read = try PushHint(payload: wrap(hint))
        #expect(read == hint)
        hint.id = try EntryID("m1")
        hint.from = try UserID("ada")
        hint.to = try UserID("bob")
        hint.time = now
        hint.badge = .init(count: 3, asOf: now)
        hint.isCut = true
        let all = try PushHint(payload: wrap(hint))
        #expect(all == hint)
        for bad in ["", "{}", #"{"reprise":7}"#, #"{"reprise":{"kind":"x"}}"#, "[", "\u{0}"] {
            #expect(throws: RepriseError.self) { try PushHint(payload: Array(bad.utf8)) }
        }
    }

    private func wrap(_ hint: PushHint) -> [UInt8] {
        Array(#"{"aps":{"badge":1},"reprise":"#.utf8) + hint.json + Array("}".utf8)
    }
}
