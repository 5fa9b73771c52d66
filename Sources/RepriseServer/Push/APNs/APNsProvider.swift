import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
package import RepriseCore
package import RepriseWire
import Synchronization

/// Apple's push service, over HTTP/2 with token authentication.
///
/// - SeeAlso: Apple, "Sending notification requests to APNs".
package final class APNsProvider: PushProvider {
    package let service = PushService.apns
    package let concurrency: Int

    private struct State {
        var key: PushKey
        var token = APNsToken()
        /// Whether Apple has ever accepted a device's token: else the environment may be wrong, and
        /// no device is at fault.
        var hasSucceeded = false
    }

    private let settings: APNsSettings
    /// The token's file; nil keeps it in memory alone.
    private let file: APNsTokenFile?
    private let base: String
    private let client: HTTPClient
    private let answer: Duration
    private let clock: any Timekeeper
    private let state: Mutex<State>

    /// Makes a provider; nothing is connected before the first push.
    ///
    /// - Parameters:
    ///   - settings: the key and its ids.
    ///   - clock: the time.
    ///   - folder: keeps the token for the next process; nil keeps it in memory.
    ///   - concurrency: the most pushes in flight.
    ///   - answer: the timeout of an answer.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` for invalid settings.
    package init(
        _ settings: APNsSettings, clock: any Timekeeper, folder: String? = nil,
        concurrency: Int = PushLimits.apnsConcurrency,
        answer: Duration = PushLimits.answer
    ) throws {
        try settings.check()
        self.settings = settings
        file = folder.map { APNsTokenFile(folder: $0) }
        self.clock = clock
        self.concurrency = concurrency
        self.answer = answer
        base = try settings.base()
        var first = State(key: try PushKey.read(settings.keyFile, setting: "--apns-key"))
        if let kept = file?.read(first.key, keyID: settings.keyID, teamID: settings.teamID) {
            first.token.kept(
                kept.text, issued: kept.issued, now: clock.uptime(), wall: clock.wall())
        }
        state = Mutex(first)
        var configuration = try PushHTTP.configuration(settings.authorities)
        configuration.httpVersion = .automatic
        client = PushHTTP.client(configuration)
    }

    package func send(_ push: Push) async -> PushOutcome {
        guard case .apns(let device) = push.address else {
            return .refused("The address is none of APNs.")
        }
        guard device.isApples else { return .dead(since: nil) }
        do {
            let token = try token()
            let request = request(push, device, token)
            let answer = try await PushHTTP.send(
                request, by: client, within: answer,
                now: Date(timeIntervalSince1970: Double(clock.wall().milliseconds) / 1_000))
            return outcome(answer, token)
        } catch {
            return .unavailable(nil, PushHTTP.words(error))
        }
    }

    package func reload() throws -> Bool {
        let key = try PushKey.read(settings.keyFile, setting: "--apns-key")
        return state.withLock { state in
            // An unchanged key keeps its token: Apple limits how often it changes.
            guard key.publicText != state.key.publicText else { return false }
            state.key = key
            state.token = APNsToken()
            return true
        }
    }

    package func close() async { try? await client.shutdown() }

    private func token() throws -> String {
        try state.withLock { state in
            let (now, wall) = (clock.uptime(), clock.wall())
            if let text = state.token.current(now: now, wall: wall) { return text }
            let text = try state.key.token {
                $0.key("alg")
                $0.plain("ES256")
                $0.key("kid")
                $0.plain(settings.keyID)
            } claims: {
                $0.key("iss")
                $0.plain(settings.teamID)
                // Whole seconds: Apple refuses a fraction.
                $0.key("iat")
                $0.integer(wall.milliseconds / 1_000)
            }
            state.token.renewed(text, now: now, wall: wall)
            // Before its use: a process that ends in between leaves a token that Apple has not
            // seen, not the reverse.
            file?.write(text)
            return text
        }
    }

    private func request(
        _ push: Push, _ device: PushToken, _ token: String
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: "\(base)/3/device/\(device.text)")
        request.method = .POST
        let isBackground = push.hint.kind == .dismiss
        // A background push with a priority above 5 is refused.
        let priority = push.hint.kind == .alert && !push.isQuiet ? "10" : "5"
        request.headers = [
            "authorization": "bearer \(token)",
            "apns-topic": settings.topic,
            "apns-push-type": isBackground ? "background" : "alert",
            "apns-priority": priority,
            "apns-expiration": "\(max(0, push.expires.milliseconds / 1_000))",
            "apns-collapse-id": Self.collapse(push.collapse),
            "content-type": "application/json",
        ]
        request.body = .bytes(ByteBuffer(bytes: APNsPayload(push).json))
        return request
    }

    /// At most 64 bytes: a longer id is replaced by its hash.
    package static func collapse(_ text: String) -> String {
        text.utf8.count <= PushLimits.apnsCollapseBytes
            ? text : EntryID.hash(of: text, prefix: "h-").text
    }

    private func outcome(_ answer: PushAnswer, _ token: String) -> PushOutcome {
        let meaning = APNsAnswer.meaning(
            status: answer.status, body: answer.body, retryAfter: answer.retryAfter)
        return state.withLock { state in
            switch meaning {
            case .outcome(let outcome):
                if outcome == .accepted { state.hasSucceeded = true }
                if case .unauthorized = outcome, state.token.refused(token) { file?.remove() }
                return outcome
            case .tokenExpired:
                guard state.token.expired(token, now: clock.uptime()) else {
                    return .unauthorized("ExpiredProviderToken: the clocks are apart")
                }
                return .later(.zero, "ExpiredProviderToken")
            case .strangeDevice(let reason):
                guard state.hasSucceeded else {
                    return .refused("\(reason): perhaps the environment or topic is wrong")
                }
                return .dead(since: nil)
            }
        }
    }
}

extension APNsPayload {
    package init(_ push: Push) {
        self.init(
            push.hint, title: push.title, subtitle: push.subtitle, body: push.body,
            isQuiet: push.isQuiet,
            category: push.category, isTimeSensitive: push.isTimeSensitive,
            relevance: push.relevance, sound: push.sound)
    }
}
