import Foundation
import RepriseCore
import RepriseFakes
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// A stand-in for Apple over TLS and HTTP/2, and a provider that talks to it.
struct APNsUnderTest {
    static let device = "00aa11bb22cc33dd44ee55ff00aa11bb22cc33dd44ee55ff00aa11bb22cc33dd"

    let fake: FakeAPNs
    let server: FakePushServer
    let provider: APNsProvider
    let clock: ManualClock
    let keyFile: String
    let settings: APNsSettings

    // With `fakeClock` the stand-in has a clock of its own; else both have one.
    static func with<T>(
        keyID: String = "KEY0000001", fakeClock: ManualClock? = nil,
        answer: Duration = PushLimits.answer, _ body: (APNsUnderTest) async throws -> T
    ) async throws -> T {
        let clock = ManualClock()
        let fakeClock = fakeClock ?? clock
        let fake = FakeAPNs(
            topic: "org.example.chat",
            now: { Date(timeIntervalSince1970: Double(fakeClock.wall().milliseconds) / 1_000) })
        let authority = try TestAuthority()
        let files = try authority.certify()
        let server = try await FakePushServer.start(
            .init(certificate: files.certificate, key: files.key)
        ) { fake.answer($0) }
        let path = authority.folder.url.appendingPathComponent("AuthKey.p8").path
        try Data(fake.makeKey("KEY0000001", team: "TEAM000001").utf8)
            .write(to: URL(filePath: path))
        var settings = APNsSettings(
            keyFile: path, keyID: keyID, teamID: "TEAM000001", topic: "org.example.chat",
            environment: .custom(server.url))
        settings.authorities = authority.path
        fake.install(device)
        let provider = try APNsProvider(settings, clock: clock, answer: answer)
        let test = APNsUnderTest(
            fake: fake, server: server, provider: provider, clock: clock, keyFile: path,
            settings: settings)
        let outcome = await Result { try await body(test) }
        await provider.close()
        await server.stop()
        return try outcome.get()
    }

    /// A provider of another process; it keeps its token in a folder.
    func another(folder: String?) throws -> APNsProvider {
        try APNsProvider(settings, clock: clock, folder: folder)
    }

    func push(
        _ kind: PushHint.Kind = .alert, id: String = "m1", title: String = "Room",
        body: String = "Hello", to device: String = device
    ) -> Push {
        var hint = PushHint(kind: kind, channel: channel("room"), seq: 7, head: 9)
        hint.id = try? EntryID(id)
        hint.badge = PushHint.Badge(count: 3, asOf: clock.wall())
        guard let token = try? PushToken(device) else { preconditionFailure("\(device)") }
        return Push(
            address: .apns(token), hint: hint, title: title, body: body,
            expires: clock.wall().advanced(by: .seconds(60)))
    }

    /// Sends one push to be answered so.
    func send(_ answer: FakeAnswer) async -> PushOutcome {
        fake.script { _, _ in answer }
        defer { fake.script(nil) }
        return await provider.send(push())
    }
}

@Suite("APNs, over TLS and HTTP/2", .timeLimit(.minutes(2)))
struct APNsTests {
    @Test("takes alerts, badges and dismissals, each with the headers that Apple asks for")
    func kinds() async throws {
        try await APNsUnderTest.with { test in
            for kind in PushHint.Kind.allCases {
                #expect(await test.provider.send(test.push(kind)) == .accepted)
            }
            let taken = test.fake.taken
            #expect(taken.map(\.type) == ["alert", "alert", "background"])
            #expect(taken.map(\.priority) == ["10", "5", "5"])
            #expect(taken.map(\.collapse) == ["m1", "badge", "dismiss-room"])
            #expect(taken[0].expiration == test.clock.wall().milliseconds / 1_000 + 60)
            let texts = taken.map { String(decoding: $0.payload, as: UTF8.self) }
            #expect(texts[0].contains(#""thread-id":"room""#) && texts[0].contains(#""badge":3"#))
            #expect(texts[1].hasPrefix(#"{"aps":{"badge":3},"#))
            #expect(texts[2].hasPrefix(#"{"aps":{"content-available":1},"#))
            let hint = try PushHint(payload: taken[0].payload)
            #expect(hint.id?.text == "m1" && hint.seq == 7 && hint.head == 9 && !hint.isCut)
            #expect(test.server.connectionCount == 1)
        }
    }

    @Test(
        "an id of more than 64 bytes goes by its hash, of which two are never alike",
        .limit("push.collapse"))
    func collapse() {
        let (long, other) = (String(repeating: "a", count: 65), String(repeating: "a", count: 66))
        #expect(APNsProvider.collapse(String(repeating: "a", count: 64)).count == 64)
        #expect(APNsProvider.collapse(long).count <= 64)
        #expect(APNsProvider.collapse(long) != APNsProvider.collapse(other))
    }

    @Test(
        "an answer of up to 4,096 bytes is read, and the reason in a longer one is ignored",
        .limit("push.answer"))
    func longAnswer() async throws {
        try await APNsUnderTest.with { test in
            for (extra, isRead) in [(0, true), (1, false)] {
                let (start, end) = (#"{"reason":"BadPriority","x":""#, #""}"#)
                let filling = 4_096 + extra - start.utf8.count - end.utf8.count
                let body = start + String(repeating: "x", count: filling) + end
                let outcome = await test.send(.status(400, body: body))
                #expect((outcome == .refused("BadPriority")) == isRead)
            }
        }
    }

    @Test(
        "every status and reason that Apple documents has its outcome",
        arguments: [
            (400, "BadCollapseId", PushOutcome.refused("BadCollapseId")),
            (400, "BadExpirationDate", .refused("BadExpirationDate")),
            (400, "BadMessageId", .refused("BadMessageId")),
            (400, "BadPriority", .refused("BadPriority")),
            (400, "BadTopic", .unauthorized("BadTopic")),
            (400, "DuplicateHeaders", .refused("DuplicateHeaders")),
            (400, "IdleTimeout", .later(nil, "IdleTimeout")),
            (400, "InvalidPushType", .refused("InvalidPushType")),
            (400, "MissingDeviceToken", .refused("MissingDeviceToken")),
            (400, "MissingTopic", .unauthorized("MissingTopic")),
            (400, "PayloadEmpty", .refused("PayloadEmpty")),
            (400, "TopicDisallowed", .unauthorized("TopicDisallowed")),
            (403, "BadCertificate", .unauthorized("BadCertificate")),
            (403, "BadCertificateEnvironment", .unauthorized("BadCertificateEnvironment")),
            (403, "Forbidden", .unauthorized("Forbidden")),
            (403, "InvalidProviderToken", .unauthorized("InvalidProviderToken")),
            (403, "MissingProviderToken", .unauthorized("MissingProviderToken")),
            (403, "UnrelatedKeyIdInToken", .unauthorized("UnrelatedKeyIdInToken")),
            (403, "BadEnvironmentKeyIdInToken", .unauthorized("BadEnvironmentKeyIdInToken")),
            (404, "BadPath", .refused("BadPath")),
            (405, "MethodNotAllowed", .refused("MethodNotAllowed")),
            (410, "ExpiredToken", .dead(since: nil)),
            (410, "Unregistered", .dead(since: nil)),
            (413, "PayloadTooLarge", .refused("PayloadTooLarge")),
            (
                429, "TooManyProviderTokenUpdates",
                .unavailable(.seconds(60), "TooManyProviderTokenUpdates")
            ),
            (429, "TooManyRequests", .later(nil, "TooManyRequests")),
            (500, "InternalServerError", .later(.seconds(900), "InternalServerError")),
            (
                503, "ServiceUnavailable",
                .unavailable(nil, "ServiceUnavailable", again: .seconds(900))
            ),
            (503, "Shutdown", .unavailable(nil, "Shutdown", again: .seconds(900))),
            // Those that Apple may come to give.
            (400, "SomethingNew", .refused("SomethingNew")),
            (403, "SomethingNew", .unauthorized("SomethingNew")),
            (429, "SomethingNew", .later(nil, "SomethingNew")),
            (502, "SomethingNew", .unavailable(nil, "SomethingNew", again: .seconds(900))),
        ])
    func reasons(status: Int, reason: String, expected: PushOutcome) {
        let body = Array(#"{"reason":"\#(reason)"}"#.utf8)
        #expect(
            APNsAnswer.meaning(status: status, body: body, retryAfter: nil) == .outcome(expected))
    }

    @Test("a device that is gone is dead since the moment that Apple names")
    func unregistered() async throws {
        try await APNsUnderTest.with { test in
            let since = Date(timeIntervalSince1970: 1_790_000_000.25)
            test.fake.uninstall(APNsUnderTest.device, since: since)
            #expect(
                await test.provider.send(test.push())
                    == .dead(since: WallTime(milliseconds: 1_790_000_000_250)))
        }
    }

    @Test("a token that Apple does not know is dead only where Apple knows others of ours")
    func strange() async throws {
        try await APNsUnderTest.with { test in
            let strange = test.push(to: "abcd")
            guard case .refused = await test.provider.send(strange) else {
                Issue.record("the environment may be the wrong one: no token is to be forgotten")
                return
            }
            #expect(await test.provider.send(test.push()) == .accepted)
            #expect(await test.provider.send(strange) == .dead(since: nil))
            test.fake.installOther("beef")
            #expect(await test.provider.send(test.push(to: "beef")) == .dead(since: nil))
            let requests = test.fake.requestCount
            for bad in ["../../x", "abc", "zz", "aa/bb"] {
                #expect(await test.provider.send(test.push(to: bad)) == .dead(since: nil))
            }
            #expect(test.fake.requestCount == requests, "what is no token is not sent")
        }
    }

    @Test(
        "one token serves for 50 minutes, and the next is never made within 20",
        .limit("push.apnsToken"))
    func tokens() async throws {
        try await APNsUnderTest.with { test in
            for _ in 0..<3 {
                #expect(await test.provider.send(test.push()) == .accepted)
                test.clock.advance(by: .seconds(16 * 60))
            }
            #expect(test.fake.tokenCount == 1)
            test.clock.advance(by: .seconds(3 * 60))
            #expect(await test.provider.send(test.push()) == .accepted)
            #expect(test.fake.tokenCount == 2)
        }
    }

    @Test(
        "a token that Apple takes for expired is renewed, unless it is new: then the clocks differ")
    func expired() async throws {
        try await APNsUnderTest.with { test in
            #expect(await test.provider.send(test.push()) == .accepted)
            let old = FakeAnswer.status(403, body: #"{"reason":"ExpiredProviderToken"}"#)
            guard case .unauthorized = await test.send(old) else {
                Issue.record("a token of no age")
                return
            }
            test.clock.advance(by: .seconds(21 * 60))
            #expect(await test.send(old) == .later(.zero, "ExpiredProviderToken"))
            #expect(await test.provider.send(test.push()) == .accepted)
            #expect(test.fake.tokenCount == 2)
        }
    }

    @Test(
        "a calendar ahead of Apple's and an unknown key are reported as errors of the configuration"
    )
    func skew() async throws {
        try await APNsUnderTest.with { test in
            // The stand-in's clock is this one, so the calendar is moved between signing and
            // looking.
            test.clock.jumpWall(by: .seconds(7_200))
            #expect(await test.provider.send(test.push()) == .accepted)
            test.clock.jumpWall(by: .seconds(7_200))
            guard case .unauthorized = await test.provider.send(test.push()) else {
                Issue.record("Apple's clock is two hours ahead")
                return
            }
        }
        try await APNsUnderTest.with(keyID: "KEY0000002") { test in
            #expect(
                await test.provider.send(test.push())
                    == .unauthorized("InvalidProviderToken"))
        }
    }

    @Test("an answer that Apple never gives, and no answer, mean that the provider is down")
    func nonsense() async throws {
        try await APNsUnderTest.with { test in
            let answers: [FakeAnswer] = [
                .status(502, body: "<html>"), .status(200 + 2, body: "{"),
                .status(301, headers: ["location": "http://127.0.0.1:1/"]),
                .status(400, body: String(repeating: "x", count: 100_000)),
                .status(400, body: #"{"reason":"\u0000\n"}"#), .cut,
            ]
            for answer in answers {
                guard case .unavailable = await test.send(answer) else {
                    Issue.record("\(answer)")
                    continue
                }
            }
            // The next one may still be put on the connection that was cut: that is a failure of
            // the provider too, and tried again.
            var outcomes: [PushOutcome] = []
            while outcomes.last != .accepted, outcomes.count < 5 {
                outcomes.append(await test.provider.send(test.push()))
            }
            #expect(outcomes.last == .accepted, "it goes on: \(outcomes)")
        }
    }

    @Test(
        "Retry-After is read as seconds and as a date, and not believed beyond an hour",
        .limit("push.retryAfter"))
    func retryAfter() async throws {
        try await APNsUnderTest.with { test in
            let now = test.clock.wall()
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(identifier: "GMT")
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            let date = format.string(
                from: Date(timeIntervalSince1970: Double(now.milliseconds) / 1_000 + 90))
            for (text, wait) in [
                ("7", Duration.seconds(7)), (date, .seconds(90)),
                ("99999999999999999999", PushLimits.retryAfterLongest),
            ] {
                let answer = FakeAnswer.status(
                    429, headers: ["retry-after": text],
                    body: #"{"reason":"TooManyRequests"}"#)
                #expect(await test.send(answer) == .later(wait, "TooManyRequests"))
            }
        }
    }
}

@Suite("APNs requests")
struct APNsPayloadTests {
    private func json(
        _ title: String, _ body: String
    ) throws -> (bytes: [UInt8], alert: [String: String]) {
        var hint = PushHint(kind: .alert, channel: channel("room"), seq: 1, head: 1)
        hint.id = try EntryID("m1")
        let push = Push(
            address: .apns(try PushToken("aa")), hint: hint, title: title, body: body,
            expires: now)
        let bytes = APNsPayload(push).json
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let aps = try #require(object["aps"] as? [String: Any])
        return (bytes, try #require(aps["alert"] as? [String: String]))
    }

    @Test(
        "a payload has at most 4,096 bytes, and its text is cut between two characters",
        .limit("push.payload", "push.title"),
        arguments: ["a", "é", "e\u{301}", "👩‍👩‍👧‍👦", "🇩🇪", "\"", "\n", "漢"])
    func cut(character: String) throws {
        for count in [100, 900, 1_000, 4_000, 5_000, 20_000] {
            let text = String(repeating: character, count: count)
            let (bytes, alert) = try json("Room", text)
            #expect(bytes.count <= 4_096)
            let body = try #require(alert["body"])
            guard body != text else { continue }
            #expect(bytes.count > 3_900, "as much as there is room for: \(bytes.count)")
            #expect(body.hasSuffix("…") && text.hasPrefix(String(body.dropLast())))
            let hint = try PushHint(payload: bytes)
            #expect(hint.isCut)
        }
    }

    @Test("a character with a thousand combining marks is left out whole")
    func marks() throws {
        let text = "ab" + String(repeating: "\u{301}", count: 5_000)
        let (bytes, alert) = try json("Room", text)
        #expect(bytes.count <= 4_096 && alert["body"] == "a…")
    }

    @Test(
        "direction controls are closed in the text and removed from the title; direction marks stay in both",
        .limit("push.directions"))
    func directions() throws {
        let (_, alert) = try json(
            "\u{202e}\u{2066}evil\u{200e}\u{200f}\u{61c}", "a\u{202e}b\u{2067}c\u{202c}")
        #expect(alert["title"] == "evil\u{200e}\u{200f}\u{61c}")
        #expect(alert["body"] == "a\u{202e}b\u{2067}c\u{2069}\u{202c}")
        let (_, deep) = try json("x", String(repeating: "\u{202e}", count: 4_000))
        #expect((deep["body"] ?? "").unicodeScalars.count == 16)
        let (long, cut) = try json("x", "\u{2067}" + String(repeating: "a", count: 9_000))
        #expect(long.count <= 4_096 && (cut["body"] ?? "").hasSuffix("\u{2069}"))
    }

    @Test("broken surrogates and controls never reach a banner")
    func controls() throws {
        #expect(PushContent(Array(#"{"text":"a\ud800b"}"#.utf8))?.body == PushContent.unspoken)
        #expect(PushText.clean("a\u{0}b\u{7}c\nd\u{2028}") == "abc\nd")
        #expect(PushText.title("a\nb\u{1b}c", atMost: 256) == "a bc")
    }

    @Test(
        "a push shows the text and title of a body, the notice's own first, and a placeholder where there is none",
        arguments: [
            (#""plain""#, "plain", nil), (#"{"text":"t"}"#, "t", nil),
            (#"{"text":"t","title":"T"}"#, "t", "T"),
            (#"{"text":"t","notice":{"title":"N","body":"b"}}"#, "b", "N"),
            (#"{"notice":true}"#, PushContent.unspoken, nil), ("[1]", PushContent.unspoken, nil),
            ("7", PushContent.unspoken, nil), (#"{"text":7}"#, PushContent.unspoken, nil),
            (#"{"text":"  "}"#, "  ", nil), (#"{"text":""}"#, PushContent.unspoken, nil),
        ] as [(String, String, String?)])
    func content(body: String, shown: String, title: String?) throws {
        let content = try #require(PushContent(Array(body.utf8)))
        #expect(content.body == shown && content.title == title)
    }

    private func appearance(_ notice: String) throws -> NoticeAppearance {
        try #require(PushContent(Array(#"{"notice":\#(notice)}"#.utf8))).appearance
    }

    @Test(
        "a sender's name is cut; a sound's name or a picture's address that is too long is left out",
        .limit("noticeSettings.appearance"))
    func appearance() throws {
        let address = "https://example.org/"
        let rest = String(repeating: "a", count: NoticeAppearance.pictureBytes - address.utf8.count)
        for (picture, isTaken) in [
            (address + rest, true), (address + rest + "a", false), ("http://example.org/a", false),
            ("https://example.org/a b", false), ("https://example.org/é", false), ("", false),
        ] {
            let found = try appearance(#"{"picture":"\#(picture)"}"#)
            #expect(found.picture == (isTaken ? picture : nil), "\(picture)")
        }
        for (count, isTaken) in [(NoticeAppearance.soundBytes, true), (65, false)] {
            let sound = String(repeating: "s", count: count)
            let found = try appearance(#"{"sound":"\#(sound)"}"#)
            #expect(found.sound == (isTaken ? sound : nil), "\(count)")
        }
        let name = String(repeating: "é", count: NoticeAppearance.senderBytes)
        let sender = try #require(try appearance(#"{"sender":"\#(name)"}"#).sender)
        #expect(sender.utf8.count <= NoticeAppearance.senderBytes && sender.hasSuffix("é…"))
        #expect(try appearance(#"{"sender":"A\u202eda\n"}"#).sender == "Ada ")
    }

    @Test(
        "an invalid value in a notice is ignored",
        arguments: [
            #"{"sender":7,"picture":[],"interruption":"critical","relevance":2}"#,
            #"{"sender":"","picture":null,"interruption":"active","relevance":-0.1}"#,
            #"{"sender":null,"interruption":true,"relevance":"1","sound":1}"#,
            #"{"sound":""}"#, #"{"sound":"../x.caf"}"#, #"{"sound":".x"}"#, #"{"sound":"a b"}"#,
            #"{"sound":"\#(String(repeating: "s", count: NoticeAppearance.soundBytes + 1))"}"#,
        ])
    func asksForNothing(notice: String) throws {
        #expect(try appearance(notice) == NoticeAppearance())
    }

    @Test("the payload has the interruption level and the relevance; quiet hours win")
    func interruption() throws {
        var hint = PushHint(kind: .alert, channel: channel("room"), seq: 1, head: 1)
        hint.id = try EntryID("m1")
        hint.from = try UserID("ada")
        var asked = NoticeAppearance()
        asked.sender = "Ada"
        asked.picture = "https://example.org/ada.png"
        hint.name(asked, in: "The room")
        var payload = APNsPayload(hint, title: "T", isTimeSensitive: true, relevance: 0.25)
        var text = String(decoding: payload.json, as: UTF8.self)
        #expect(text.contains(#""interruption-level":"time-sensitive","relevance-score":0.25,"#))
        #expect(text.contains(#""sound":"default""#))
        payload.sound = "chime.caf"
        #expect(String(decoding: payload.json, as: UTF8.self).contains(#""sound":"chime.caf""#))
        #expect(payload.content.sound && payload.content.soundName == "chime.caf")
        #expect(payload.content.interruption == .timeSensitive && payload.content.relevance == 0.25)
        let read = try PushHint(payload: payload.json)
        #expect(
            read.conversation
                == NotificationConversation(
                    id: "room", sender: "ada", name: "Ada", picture: asked.picture,
                    group: "The room"))
        payload.isQuiet = true
        text = String(decoding: payload.json, as: UTF8.self)
        #expect(text.contains(#""interruption-level":"passive""#) && !text.contains("sensitive"))
        hint.name(asked, in: nil)
        #expect(hint.conversation?.group == nil, "a conversation of two")
        hint.from = nil
        #expect(hint.conversation == nil)
    }

    @Test("the longest sender, picture and title leave room for a text")
    func room() throws {
        var hint = PushHint(
            kind: .alert, channel: channel(String(repeating: "c", count: 64)), seq: .max, head: .max
        )
        hint.id = try EntryID(String(repeating: "i", count: 64))
        hint.from = try UserID(String(repeating: "u", count: 64))
        var asked = NoticeAppearance()
        asked.sender = String(repeating: "s", count: NoticeAppearance.senderBytes)
        asked.picture =
            "https://" + String(repeating: "p", count: NoticeAppearance.pictureBytes - 8)
        hint.name(asked, in: String(repeating: "t", count: 256))
        let long = String(repeating: "b", count: 9_000)
        let payload = APNsPayload(
            hint, title: String(repeating: "t", count: 256), body: long, isTimeSensitive: true,
            relevance: 0.123456789)
        #expect(payload.json.count <= 4_096 && payload.content.body.utf8.count > 1_500)
    }
}
