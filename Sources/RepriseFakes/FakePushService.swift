import Crypto
public import Foundation
import Synchronization

/// A stand-in for the push service of a browser, and for the browsers behind it.
///
/// | rule | its source |
/// |---|---|
/// | POST with TTL, 201, `Location`; 404, 410 if gone; 413; 429 | RFC 8030 §5, §5.2, §7.2, §8.4 |
/// | Urgency; Topic: replaces a waiting message of the same | RFC 8030 §5.3, §5.4 |
/// | `vapid` with `aud`, `exp` within 24 hours, `sub`; the subscribed key | RFC 8292 §2, §4.2 |
/// | one record of `aes128gcm` | RFC 8188, RFC 8291 |
public final class FakePushService: Sendable {
    /// A browser's subscription, in the form of `PushSubscription.toJSON()`.
    public struct Subscription: Hashable, Sendable {
        /// The absolute URL.
        public var endpoint: String
        /// In base64url.
        public var p256dh: String
        /// In base64url.
        public var auth: String
    }

    /// An accepted message.
    public struct Taken: Hashable, Sendable {
        /// The browser, as the last part of the endpoint.
        public var name: String
        /// `Topic`.
        public var topic: String?
        /// `Urgency`.
        public var urgency: String
        /// `TTL`, in seconds.
        public var life: Int64
        /// As the browser's script gets it; nil if it cannot be decrypted.
        public var text: [UInt8]?
    }

    private struct Browser {
        var key: P256.KeyAgreement.PrivateKey
        var secret: [UInt8]
        var serverKey: String?
        var isGone = false
    }

    private struct State {
        var browsers: [String: Browser] = [:]
        var taken: [Taken] = []
        var keeps = true
        var takenCount = 0
        var requests = 0
        var script: (@Sendable (FakeRequest, Int) -> FakeAnswer?)?
        var origin = ""
    }

    private let now: @Sendable () -> Date
    private let state = Mutex(State())

    /// Makes a service without browsers.
    ///
    /// - Parameter now: its clock.
    public init(now: @escaping @Sendable () -> Date = { Date() }) { self.now = now }

    /// Sets its origin: the required `aud`.
    public func listens(at origin: String) { state.withLock { $0.origin = origin } }

    /// A browser subscribes.
    ///
    /// - Parameters:
    ///   - name: the last part of its endpoint.
    ///   - serverKey: `applicationServerKey`, in base64url; nil accepts messages of any server.
    /// - Returns: its subscription.
    public func subscribe(_ name: String, serverKey: String? = nil) -> Subscription {
        let key = P256.KeyAgreement.PrivateKey()
        var generator = SystemRandomNumberGenerator()
        let secret = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return state.withLock { state in
            state.browsers[name] = Browser(key: key, secret: secret, serverKey: serverKey)
            return Subscription(
                endpoint: state.origin + "/push/" + name,
                p256dh: FakeToken.text(key.publicKey.x963Representation),
                auth: FakeToken.text(secret))
        }
    }

    /// A browser has ended its subscription.
    public func unsubscribe(_ name: String) { state.withLock { $0.browsers[name]?.isGone = true } }

    /// Replaces the rules' answers; gets the request and how many came before.
    public func script(_ script: (@Sendable (FakeRequest, Int) -> FakeAnswer?)?) {
        state.withLock { $0.script = script }
    }

    /// Whether accepted messages are kept and decrypted, or only counted.
    public func keepTaken(_ keeps: Bool) { state.withLock { $0.keeps = keeps } }

    /// The accepted messages that are not replaced, in order.
    public var taken: [Taken] { state.withLock { $0.taken } }

    /// How many messages were accepted.
    public var takenCount: Int { state.withLock { $0.takenCount } }

    /// How many requests came.
    public var requestCount: Int { state.withLock { $0.requests } }

    /// Answers a request.
    public func answer(_ request: FakeRequest) -> FakeAnswer {
        state.withLock { state in
            defer { state.requests += 1 }
            if let answer = state.script?(request, state.requests) { return answer }
            return take(request, &state)
        }
    }

    private func take(_ request: FakeRequest, _ state: inout State) -> FakeAnswer {
        guard request.path.hasPrefix("/push/") else { return .status(404) }
        let name = String(request.path.dropFirst("/push/".count))
        guard request.method == "POST" else { return .status(405) }
        guard let browser = state.browsers[name] else { return .status(404) }
        guard !browser.isGone else { return .status(410) }
        guard let life = request["ttl"].first.flatMap({ Int64($0) }), life >= 0 else {
            return .status(400, body: "TTL")
        }
        let urgency = request["urgency"].first ?? "normal"
        guard ["very-low", "low", "normal", "high"].contains(urgency) else {
            return .status(400, body: "Urgency")
        }
        let topic = request["topic"].first
        guard topic.map(Self.isTopic) ?? true else { return .status(400, body: "Topic") }
        if let refusal = identify(request, browser, state.origin) { return refusal }
        guard request["content-encoding"] == ["aes128gcm"] else {
            return .status(400, body: "Content-Encoding")
        }
        guard request.body.count <= 4_096 else { return .status(413) }
        state.takenCount += 1
        if state.keeps {
            if let topic { state.taken.removeAll { $0.name == name && $0.topic == topic } }
            state.taken.append(
                Taken(
                    name: name, topic: topic, urgency: urgency, life: life,
                    text: Self.open(request.body, browser)))
        }
        return .status(201, headers: ["location": "/message/\(state.takenCount)"])
    }

    private static func isTopic(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5a).contains($0)
                    || (0x61...0x7a).contains($0) || $0 == 0x2d || $0 == 0x5f
            }
    }

    private func identify(
        _ request: FakeRequest, _ browser: Browser, _ origin: String
    ) -> FakeAnswer? {
        guard let expected = browser.serverKey else { return nil }
        guard let field = request["authorization"].first, field.hasPrefix("vapid ") else {
            return .status(401)
        }
        var parts: [String: String] = [:]
        for part in field.dropFirst("vapid ".count).split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { return .status(401) }
            parts[pair[0].trimmingCharacters(in: .whitespaces)] = String(pair[1])
        }
        guard let token = parts["t"].flatMap({ FakeToken($0) }), let name = parts["k"],
            let bytes = FakeToken.bytes(name),
            let key = try? P256.Signing.PublicKey(x963Representation: bytes),
            token.isSigned(by: key)
        else { return .status(403, body: "signature") }
        let moment = Int64(now().timeIntervalSince1970)
        guard token.claims["aud"] as? String == origin, token.claims["sub"] is String,
            let expires = token.whole("exp"), expires > moment, expires <= moment + 86_400
        else { return .status(403, body: "claims") }
        return name == expected ? nil : .status(403, body: "key")
    }

    /// Decrypts a message as a browser does, by RFC 8188 and RFC 8291, without the server's code.
    private static func open(_ body: [UInt8], _ browser: Browser) -> [UInt8]? {
        guard body.count > 21, body.count >= 21 + Int(body[20]) + 17 else { return nil }
        let salt = Array(body[..<16])
        let sender = Array(body[21..<21 + Int(body[20])])
        let sealed = body[(21 + Int(body[20]))...]
        guard let key = try? P256.KeyAgreement.PublicKey(x963Representation: sender),
            let shared = try? browser.key.sharedSecretFromKeyAgreement(with: key)
        else { return nil }
        let secret = shared.withUnsafeBytes { Array($0) }
        let own = Array(browser.key.publicKey.x963Representation)
        let first = hmac(browser.secret, secret)
        let input = hmac(first, Array("WebPush: info".utf8) + [0] + own + sender + [1])
        let second = hmac(salt, input)
        let cipher = hmac(second, Array("Content-Encoding: aes128gcm".utf8) + [0, 1])
        let nonce = hmac(second, Array("Content-Encoding: nonce".utf8) + [0, 1])
        guard
            let box = try? AES.GCM.SealedBox(
                combined: Data(nonce.prefix(12)) + Data(sealed)),
            let text = try? AES.GCM.open(box, using: SymmetricKey(data: cipher.prefix(16))),
            let end = text.lastIndex(where: { $0 != 0 }), text[end] == 2
        else { return nil }
        return Array(text[..<end])
    }

    private static func hmac(_ key: [UInt8], _ text: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: key)))
    }
}
