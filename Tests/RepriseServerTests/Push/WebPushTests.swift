import Crypto
import Foundation
import NIOCore
import RepriseCore
import RepriseFakes
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// A stand-in for a push service over TLS, and a provider that talks to it.
struct WebPushUnderTest {
    let service: FakePushService
    let server: FakePushServer
    let provider: WebPushProvider
    let clock: ManualClock
    let keyFile: String

    static func with(
        allowsPrivate: Bool = true, names: [String: String] = [:],
        answer: Duration = PushLimits.answer, _ body: (WebPushUnderTest) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        let service = FakePushService(now: {
            Date(timeIntervalSince1970: Double(clock.wall().milliseconds) / 1_000)
        })
        let authority = try TestAuthority()
        let files = try authority.certify(["localhost", "push.example.org"])
        let server = try await FakePushServer.start(
            .init(certificate: files.certificate, key: files.key)
        ) { service.answer($0) }
        service.listens(at: server.url)
        let path = authority.folder.url.appendingPathComponent("vapid.pem").path
        try Data(P256.Signing.PrivateKey().pemRepresentation.utf8).write(to: URL(filePath: path))
        var settings = WebPushSettings(keyFile: path, subject: "mailto:push@example.org")
        settings.authorities = authority.path
        settings.allowsPrivate = allowsPrivate
        let provider = try WebPushProvider(
            settings, clock: clock, answer: answer, names: names)
        let test = WebPushUnderTest(
            service: service, server: server, provider: provider, clock: clock, keyFile: path)
        let outcome = await Result { try await body(test) }
        await provider.close()
        await server.stop()
        try outcome.get()
    }

    func push(
        to subscription: FakePushService.Subscription, id: String = "m1", body: String = "Hello",
        isQuiet: Bool = false
    ) -> Push {
        var hint = PushHint(kind: .alert, channel: channel("room"), seq: 7, head: 9)
        hint.id = try? EntryID(id)
        guard
            let address = try? WebPushSubscription(
                endpoint: subscription.endpoint, key: subscription.p256dh,
                secret: subscription.auth)
        else { preconditionFailure("no subscription") }
        return Push(
            address: .webPush(address),
            hint: hint, title: "Room", body: body, isQuiet: isQuiet,
            expires: clock.wall().advanced(by: .seconds(60)))
    }
}

@Suite("Web Push, over TLS", .timeLimit(.minutes(2)))
struct WebPushTests {
    @Test("a message is sealed for the browser, signed for the service, and has its urgency")
    func sends() async throws {
        try await WebPushUnderTest.with { test in
            let browser = test.service.subscribe("b1", serverKey: test.provider.publicKey)
            #expect(await test.provider.send(test.push(to: browser)) == .accepted)
            #expect(
                await test.provider.send(test.push(to: browser, id: "m2", isQuiet: true))
                    == .accepted)
            let taken = test.service.taken
            #expect(taken.map(\.urgency) == ["high", "low"] && taken.map(\.life) == [60, 60])
            #expect(taken[0].topic?.count == 32 && taken[0].topic != taken[1].topic)
            let text = try #require(taken[0].text)
            let hint = try PushHint(payload: text)
            #expect(hint.id?.text == "m1")
            let shown = try #require(
                try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any])
            #expect(shown["title"] as? String == "Room" && shown["body"] as? String == "Hello")
            #expect(shown["tag"] as? String == "m1")
        }
    }

    @Test("a message pushed again takes its own place")
    func topic() async throws {
        try await WebPushUnderTest.with { test in
            let browser = test.service.subscribe("b1", serverKey: test.provider.publicKey)
            for _ in 0..<3 { _ = await test.provider.send(test.push(to: browser)) }
            #expect(test.service.takenCount == 3 && test.service.taken.count == 1)
        }
    }

    @Test("a long text is cut to one record, which the browser can open", .limit("push.payload"))
    func long() async throws {
        try await WebPushUnderTest.with { test in
            let browser = test.service.subscribe("b1")
            for character in ["a", "👩‍👩‍👧‍👦", "\""] {
                let body = String(repeating: character, count: 20_000)
                #expect(
                    await test.provider.send(test.push(to: browser, body: body)) == .accepted)
                let text = try #require(test.service.taken.last?.text)
                #expect(text.count <= PushLimits.webPushPayloadBytes && text.count > 3_800)
                let hint = try PushHint(payload: text)
                #expect(hint.isCut)
            }
        }
    }

    @Test(
        "each status of a push service has its outcome",
        arguments: [
            (200, PushOutcome.accepted), (201, .accepted), (202, .accepted),
            (400, .refused("400")), (401, .refused("401")), (403, .refused("403")),
            (404, .dead(since: nil)), (410, .dead(since: nil)), (413, .refused("413")),
            (429, .later(.seconds(30), "429")), (500, .unavailable(.seconds(30), "500")),
            (503, .unavailable(.seconds(30), "503")), (302, .refused("302")),
        ])
    func answers(status: Int, expected: PushOutcome) async throws {
        #expect(WebPushProvider.outcome(status, .seconds(30)) == expected)
    }

    @Test("a subscription that is gone is dead; one with another key is refused alone")
    func gone() async throws {
        try await WebPushUnderTest.with { test in
            let browser = test.service.subscribe("b1")
            test.service.unsubscribe("b1")
            #expect(await test.provider.send(test.push(to: browser)) == .dead(since: nil))
            let other = test.service.subscribe("b2", serverKey: "another")
            #expect(await test.provider.send(test.push(to: other)) == .refused("403"))
            let third = test.service.subscribe("b3")
            for answer in [FakeAnswer.cut, .status(503)] {
                test.service.script { _, _ in answer }
                guard case .unavailable = await test.provider.send(test.push(to: third)) else {
                    Issue.record("\(answer)")
                    continue
                }
            }
            test.service.script { _, _ in .status(429, headers: ["retry-after": "11"]) }
            #expect(
                await test.provider.send(test.push(to: third)) == .later(.seconds(11), "429"))
        }
    }

    @Test("a connection that leads into a private network is not used")
    func leads() async throws {
        let log = ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1"]
        for address in log {
            let socket = try SocketAddress(ipAddress: address, port: 443)
            #expect(
                !EndpointGuard().allows(socket) && EndpointGuard(allowsPrivate: true).allows(socket)
            )
        }
        try await WebPushUnderTest.with(allowsPrivate: false) { test in
            let browser = test.service.subscribe("b1")
            #expect(await test.provider.send(test.push(to: browser)) == .dead(since: nil))
            #expect(test.service.requestCount == 0)
        }
        // A name that anybody may register, and that leads here.
        let names = ["push.example.org": "127.0.0.1"]
        for isAllowed in [false, true] {
            try await WebPushUnderTest.with(allowsPrivate: isAllowed, names: names) { test in
                test.service.listens(at: "https://push.example.org:\(test.server.port)")
                let browser = test.service.subscribe("b1")
                let outcome = await test.provider.send(test.push(to: browser))
                let refused = PushOutcome.refused("The endpoint leads into a private network.")
                #expect(outcome == (isAllowed ? .accepted : refused))
                #expect(test.service.requestCount == (isAllowed ? 1 : 0))
            }
        }
    }

    @Test(
        "endpoints that lead to this machine or into a private network are refused",
        arguments: [
            "https://localhost/x", "https://127.0.0.1/x", "https://127.1/x", "https://[::1]/x",
            "https://10.0.0.1/x", "https://172.16.0.1/x", "https://192.168.1.1/x",
            "https://169.254.169.254/latest", "https://100.64.0.1/", "https://0.0.0.0/",
            "https://[fe80::1]/", "https://[fc00::1]/", "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:10.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://2130706433/",
            "https://0x7f.0.0.1/", "https://[2002:7f00:1::]/", "https://printer.local/",
            "https://metadata.internal/", "https://localhost./", "https://a.localhost/",
            "http://push.example.org/x", "ftp://push.example.org/", "push.example.org", "",
            "https://user:secret@push.example.org/", "https://push.example.org/#x",
            "https:///x", "https://224.0.0.1/", "https://255.255.255.255/", "//x",
            "https://192.88.99.1/", "https://[2001:db8::1]/", "https://[5f00::1]/",
            "https://exam%70le.org/", "https://b\u{fc}cher.example/",
        ])
    func refused(endpoint: String) {
        #expect(throws: RepriseError.self) { try EndpointGuard().check(endpoint) }
    }

    @Test(
        "the existing push services are allowed",
        arguments: [
            "https://fcm.googleapis.com/fcm/send/abc:def",
            "https://updates.push.services.mozilla.com/wpush/v2/gAAAA",
            "https://web.push.apple.com/QGu", "https://wns2-am3p.notify.windows.com/w/?token=x",
            "https://[2001:4860:4860::8888]/x", "https://8.8.8.8/x",
        ])
    func allowed(endpoint: String) throws { try EndpointGuard().check(endpoint) }

    @Test(
        "a malformed subscription is refused",
        arguments: [
            ("", "BTBZMqHH6r4Tts7J_aSIgg"), ("AAAA", "BTBZMqHH6r4Tts7J_aSIgg"),
            (RFC8291.receiver, ""), (RFC8291.receiver, "BTBZ"), ("B\u{e9}", "x"),
            (String(repeating: "A", count: 87), "BTBZMqHH6r4Tts7J_aSIgg"),
        ])
    func none(key: String, secret: String) {
        #expect(throws: RepriseError.self) {
            try WebPushSubscription(endpoint: "https://a.example", key: key, secret: secret)
        }
    }

    @Test(
        "an endpoint has 2,048 bytes; a longer one is refused as too large", .limit("push.endpoint")
    )
    func longEndpoint() throws {
        let start = "https://a.example/"
        func subscription(_ bytes: Int) throws -> WebPushSubscription {
            try WebPushSubscription(
                endpoint: start + String(repeating: "a", count: bytes - start.utf8.count),
                key: RFC8291.receiver, secret: RFC8291.secret)
        }
        #expect(try subscription(2_048).endpoint.utf8.count == 2_048)
        expectError(.tooLarge) { try subscription(2_049) }
    }
}

/// The example of RFC 8291, §5 and Appendix A.
enum RFC8291 {
    static let text = "When I grow up, I want to be a watermelon"
    static let secret = "BTBZMqHH6r4Tts7J_aSIgg"
    static let receiver =
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let receiverKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
    static let senderKey = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
    static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
    static let body =
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLoc"
        + "InmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWG"
        + "NWQexSgSxsj_Qulcy4a-fN"

    static func bytes(_ text: String) throws -> [UInt8] {
        let standard = text.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        let padded = standard + String(repeating: "=", count: (4 - standard.count % 4) % 4)
        return Array(try #require(Data(base64Encoded: padded)))
    }
}

@Suite("Web Push encryption")
struct WebPushSealTests {
    @Test("the example of RFC 8291 comes out byte for byte")
    func vector() throws {
        let subscription = try WebPushSubscription(
            endpoint: "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
            key: RFC8291.receiver, secret: RFC8291.secret)
        let sealed = try WebPushSeal.seal(
            Array(RFC8291.text.utf8), for: subscription,
            ephemeral: P256.KeyAgreement.PrivateKey(
                rawRepresentation: try RFC8291.bytes(RFC8291.senderKey)),
            salt: try RFC8291.bytes(RFC8291.salt))
        #expect(sealed == (try RFC8291.bytes(RFC8291.body)))
    }

    @Test("an independent implementation, PyPI's http-ece, opens our sealed messages")
    func independent() async throws {
        let python = Command.python
        try #require(
            FileManager.default.isExecutableFile(atPath: python.path),
            "scripts/setup has not prepared \(python.path)")
        let subscription = try WebPushSubscription(
            endpoint: "https://push.example.net/x", key: RFC8291.receiver, secret: RFC8291.secret)
        let texts = ["", "Hello", String(repeating: "x", count: PushLimits.webPushPayloadBytes)]
        for text in texts {
            let sealed = try WebPushSeal.seal(Array(text.utf8), for: subscription)
            #expect(sealed.count <= 4_096)
            let (status, words) = try await Command.run(
                python.path,
                [
                    Command.root.appending(path: "Tests/Support/push/open.py").path,
                    RFC8291.receiverKey,
                    RFC8291.secret, Data(sealed).base64EncodedString(),
                ])
            #expect(status == 0)
            #expect(words == text)
        }
    }

    @Test("no two messages are sealed alike")
    func random() throws {
        let subscription = try WebPushSubscription(
            endpoint: "https://push.example.net/x", key: RFC8291.receiver, secret: RFC8291.secret)
        let one = try WebPushSeal.seal([1], for: subscription)
        let other = try WebPushSeal.seal([1], for: subscription)
        #expect(one[..<16] != other[..<16] && one[21..<86] != other[21..<86])
    }
}
