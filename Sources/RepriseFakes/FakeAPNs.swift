import Crypto
public import Foundation
import Synchronization

/// A stand-in for Apple's push service: its documented rules, and the error of each.
///
/// | rule | its source |
/// |---|---|
/// | path, method, headers and their values | "Sending notification requests to APNs" |
/// | statuses and reasons | "Handling notification responses from APNs" |
/// | token: good for 1 h, new after 20 min | "Establishing a token-based connection to APNs" |
/// | 4,096 bytes of payload, 64 of a collapse id | "Generating a remote notification" |
/// | `iat` is a whole number, else InvalidProviderToken | observed, not documented |
/// | the order in which the rules are checked | unknown |
/// | how many pushes to a device are too many | unknown: settable here |
public final class FakeAPNs: Sendable {
    /// An accepted push.
    public struct Taken: Hashable, Sendable {
        /// The device's token.
        public var device: String
        /// `apns-push-type`.
        public var type: String
        /// `apns-priority`.
        public var priority: String
        /// `apns-collapse-id`.
        public var collapse: String?
        /// `apns-expiration`.
        public var expiration: Int64
        /// The payload, byte for byte.
        public var payload: [UInt8]
    }

    private struct State {
        var topic: String
        var now: @Sendable () -> Date
        var keys: [String: (team: String, key: P256.Signing.PublicKey)] = [:]
        var devices: Set<String> = []
        var dead: [String: Date] = [:]
        var foreign: Set<String> = []
        var script: (@Sendable (FakeRequest, Int) -> FakeAnswer?)?
        var taken: [Taken] = []
        var keeps = true
        var takenCount = 0
        var requests = 0
        var lastToken: (text: String, issued: Int64)?
        var tokens: Set<String> = []
    }

    private let state: Mutex<State>

    /// Makes a stand-in without keys and devices.
    ///
    /// - Parameters:
    ///   - topic: the only app.
    ///   - now: its clock.
    public init(topic: String, now: @escaping @Sendable () -> Date = { Date() }) {
        state = Mutex(State(topic: topic, now: now))
    }

    /// Makes a key, as the developer's account does.
    ///
    /// - Parameters:
    ///   - id: its 10 characters.
    ///   - team: the team's 10 characters.
    /// - Returns: the content of the `.p8` file.
    public func makeKey(_ id: String, team: String) -> String {
        let key = P256.Signing.PrivateKey()
        state.withLock { $0.keys[id] = (team, key.publicKey) }
        return key.pemRepresentation
    }

    /// Installs the app on a device with this token.
    public func install(_ token: String) {
        state.withLock {
            $0.devices.insert(token)
            $0.dead[token] = nil
        }
    }

    /// Uninstalls the app from the device at a moment.
    public func uninstall(_ token: String, since: Date) {
        state.withLock { $0.dead[token] = since }
    }

    /// Adds a device with another app.
    public func installOther(_ token: String) { _ = state.withLock { $0.foreign.insert(token) } }

    /// Replaces the rules' answers; gets the request and how many came before.
    public func script(_ script: (@Sendable (FakeRequest, Int) -> FakeAnswer?)?) {
        state.withLock { $0.script = script }
    }

    /// Whether accepted pushes are kept, or only counted.
    public func keepTaken(_ keeps: Bool) { state.withLock { $0.keeps = keeps } }

    /// The accepted pushes, in order.
    public var taken: [Taken] { state.withLock { $0.taken } }

    /// How many pushes were accepted.
    public var takenCount: Int { state.withLock { $0.takenCount } }

    /// How many requests came.
    public var requestCount: Int { state.withLock { $0.requests } }

    /// How many provider tokens it has seen.
    public var tokenCount: Int { state.withLock { $0.tokens.count } }

    /// Answers a request.
    public func answer(_ request: FakeRequest) -> FakeAnswer {
        state.withLock { state in
            defer { state.requests += 1 }
            if let answer = state.script?(request, state.requests) { return answer }
            do throws(Refusal) {
                let taken = try Self.check(request, &state)
                state.takenCount += 1
                if state.keeps { state.taken.append(taken) }
                let id = request["apns-id"].first ?? UUID().uuidString
                return .status(200, headers: ["apns-id": id])
            } catch {
                return error.answer
            }
        }
    }

    private struct Refusal: Error {
        var status: Int
        var reason: String
        var timestamp: Date?

        init(_ status: Int, _ reason: String, timestamp: Date? = nil) {
            self.status = status
            self.reason = reason
            self.timestamp = timestamp
        }

        var answer: FakeAnswer {
            let since = timestamp.map {
                #","timestamp":\#(Int64($0.timeIntervalSince1970 * 1_000))"#
            }
            return .status(status, body: #"{"reason":"\#(reason)"\#(since ?? "")}"#)
        }
    }

    // MARK: The rules

    private static func check(
        _ request: FakeRequest, _ state: inout State
    ) throws(Refusal) -> Taken {
        guard request.isHTTP2 else { throw Refusal(400, "BadRequest") }
        guard request.method == "POST" else { throw Refusal(405, "MethodNotAllowed") }
        guard request.path.hasPrefix("/3/device/") else { throw Refusal(404, "BadPath") }
        let names = request.headers.map(\.name).filter { $0.hasPrefix("apns-") }
        guard Set(names).count == names.count else { throw Refusal(400, "DuplicateHeaders") }
        let device = String(request.path.dropFirst("/3/device/".count))
        guard !device.isEmpty else { throw Refusal(400, "MissingDeviceToken") }
        try checkToken(request, &state)
        try checkHeaders(request, state)
        guard !request.body.isEmpty else { throw Refusal(400, "PayloadEmpty") }
        guard request.body.count <= 4_096 else { throw Refusal(413, "PayloadTooLarge") }
        guard
            let object = try? JSONSerialization.jsonObject(with: Data(request.body))
                as? [String: Any], object["aps"] is [String: Any]
        else { throw Refusal(400, "PayloadEmpty") }
        if let since = state.dead[device] {
            throw Refusal(410, "Unregistered", timestamp: since)
        }
        guard !state.foreign.contains(device) else {
            throw Refusal(400, "DeviceTokenNotForTopic")
        }
        guard state.devices.contains(device) else { throw Refusal(400, "BadDeviceToken") }
        return Taken(
            device: device, type: request["apns-push-type"].first ?? "",
            priority: request["apns-priority"].first ?? "10",
            collapse: request["apns-collapse-id"].first,
            expiration: request["apns-expiration"].first.flatMap { Int64($0) } ?? 0,
            payload: request.body)
    }

    private static func checkHeaders(
        _ request: FakeRequest, _ state: State
    ) throws(Refusal) {
        guard let topic = request["apns-topic"].first else { throw Refusal(400, "MissingTopic") }
        guard topic == state.topic else { throw Refusal(400, "TopicDisallowed") }
        let type = request["apns-push-type"].first ?? "alert"
        guard ["alert", "background", "voip", "location"].contains(type) else {
            throw Refusal(400, "InvalidPushType")
        }
        let priority = request["apns-priority"].first ?? "10"
        guard ["1", "5", "10"].contains(priority), type != "background" || priority == "5" else {
            throw Refusal(400, "BadPriority")
        }
        if let text = request["apns-expiration"].first, Int64(text).map({ $0 >= 0 }) != true {
            throw Refusal(400, "BadExpirationDate")
        }
        if let text = request["apns-collapse-id"].first, text.utf8.count > 64 {
            throw Refusal(400, "BadCollapseId")
        }
        if let text = request["apns-id"].first, UUID(uuidString: text) == nil {
            throw Refusal(400, "BadMessageId")
        }
    }

    private static func checkToken(
        _ request: FakeRequest, _ state: inout State
    ) throws(Refusal) {
        guard let field = request["authorization"].first, field.hasPrefix("bearer ") else {
            throw Refusal(403, "MissingProviderToken")
        }
        let text = String(field.dropFirst("bearer ".count))
        let now = Int64(state.now().timeIntervalSince1970)
        if let last = state.lastToken, last.text == text {
            guard now - last.issued <= 3_600 else { throw Refusal(403, "ExpiredProviderToken") }
            return
        }
        guard let token = FakeToken(text), token.header["alg"] as? String == "ES256",
            let name = token.header["kid"] as? String, let known = state.keys[name],
            token.claims["iss"] as? String == known.team, let issued = token.whole("iat"),
            token.isSigned(by: known.key)
        else { throw Refusal(403, "InvalidProviderToken") }
        // Ahead by more than a minute: Apple's tolerance is unknown.
        guard issued <= now + 60 else { throw Refusal(403, "InvalidProviderToken") }
        guard now - issued <= 3_600 else { throw Refusal(403, "ExpiredProviderToken") }
        if let last = state.lastToken, issued - last.issued < 20 * 60 {
            throw Refusal(429, "TooManyProviderTokenUpdates")
        }
        state.lastToken = (text, issued)
        state.tokens.insert(text)
    }
}
