import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
package import RepriseCore
import RepriseWire
import Synchronization

/// The push services of browsers (RFC 8030), each with its own circuit.
package final class WebPushProvider: PushProvider {
    package let service = PushService.webPush
    package let concurrency: Int
    /// The key for browsers' subscriptions: `applicationServerKey`, in base64url.
    package let publicKey: String

    private let keyFile: String
    private let guardian: EndpointGuard
    private let clients: EndpointClients
    private let answer: Duration
    private let clock: any Timekeeper
    private let vapid: Mutex<VAPID>
    /// The allowed push services; the rest of an endpoint was checked when it was registered.
    private let allowed = Mutex<Set<String>>([])

    /// Makes a provider; nothing is connected before the first push.
    ///
    /// - Parameters:
    ///   - settings: the key and the contact.
    ///   - clock: the time.
    ///   - concurrency: the most pushes in flight.
    ///   - answer: the timeout of an answer.
    ///   - names: the addresses of names, separated by spaces, for tests; others are resolved as
    ///     usual.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` for invalid settings.
    package init(
        _ settings: WebPushSettings, clock: any Timekeeper,
        concurrency: Int = PushLimits.webPushConcurrency,
        answer: Duration = PushLimits.answer, names: [String: String] = [:]
    ) throws {
        try settings.check()
        self.clock = clock
        self.concurrency = concurrency
        self.answer = answer
        let key = try PushKey.read(settings.keyFile, setting: "--vapid-key")
        publicKey = key.publicText
        keyFile = settings.keyFile
        vapid = Mutex(VAPID(key: key, subject: settings.subject))
        let guardian = EndpointGuard(allowsPrivate: settings.allowsPrivate)
        self.guardian = guardian
        var configuration = try PushHTTP.configuration(settings.authorities)
        configuration.httpVersion = .automatic
        configuration.dnsOverride = names
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 32
        // Checks again, in case a connection leads elsewhere than intended.
        let look: @Sendable (any Channel) -> EventLoopFuture<Void> = { channel in
            if guardian.allows(channel.remoteAddress) {
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(EndpointClients.Refused())
        }
        configuration.http1_1ConnectionDebugInitializer = look
        configuration.http2ConnectionDebugInitializer = { channel in
            look(channel).flatMap { PushHTTP.gather(channel) }
        }
        clients = EndpointClients(guardian, configuration, clock: clock) { host in
            if let addresses = names[host] {
                return addresses.split(separator: " ").map(String.init)
            }
            return try await HostLookUp.addresses(of: host)
        }
    }

    package func send(_ push: Push) async -> PushOutcome {
        guard case .webPush(let subscription) = push.address else {
            return .refused("The address is none of Web Push.")
        }
        guard mayTalk(to: subscription) else { return .dead(since: nil) }
        guard let host = URL(string: subscription.endpoint)?.host, !host.isEmpty else {
            return .refused("The endpoint names no host.")
        }
        do {
            let request = try request(push, subscription)
            let now = Date(timeIntervalSince1970: Double(clock.wall().milliseconds) / 1_000)
            let time = answer
            let taken = try await clients.use(for: host) { client, _ in
                try await PushHTTP.send(request, by: client, within: time, now: now)
            }
            return Self.outcome(taken.status, taken.retryAfter)
        } catch is EndpointClients.Refused {
            return .refused("The endpoint leads into a private network.")
        } catch {
            return .unavailable(nil, PushHTTP.words(error))
        }
    }

    /// Checked once per push service, not per push: only the setting for private networks may have
    /// changed.
    private func mayTalk(to subscription: WebPushSubscription) -> Bool {
        if allowed.withLock({ $0.contains(subscription.origin) }) { return true }
        guard (try? guardian.check(subscription.endpoint)) != nil else { return false }
        allowed.withLock { allowed in
            if allowed.count >= PushLimits.vapidTokens { allowed.removeAll() }
            allowed.insert(subscription.origin)
        }
        return true
    }

    /// A changed key is not used: push services accept only the key that browsers have subscribed
    /// with.
    package func reload() throws -> Bool {
        guard try PushKey.read(keyFile, setting: "--vapid-key").publicText != publicKey else {
            return false
        }
        throw RepriseError(
            .badConfiguration,
            "The key of Web Push is another than the one with which browsers have subscribed.",
            remedy:
                "Put the old key back; or start the server again, and every browser subscribes anew."
        )
    }

    package func close() async { await clients.close() }

    private func request(
        _ push: Push, _ subscription: WebPushSubscription
    ) throws -> HTTPClientRequest {
        var request = HTTPClientRequest(url: subscription.endpoint)
        request.method = .POST
        let life = clock.wall().duration(to: push.expires).milliseconds / 1_000
        let authorization = try vapid.withLock {
            try $0.authorization(for: subscription.origin, clock: clock)
        }
        request.headers = [
            "authorization": authorization,
            "ttl": "\(max(0, life))",
            "urgency": push.isQuiet ? "low" : "high",
            "topic": Self.topic(push.collapse),
            "content-encoding": "aes128gcm",
            "content-type": "application/octet-stream",
        ]
        let sealed = try WebPushSeal.seal(WebPushPayload.json(push), for: subscription)
        request.body = .bytes(ByteBuffer(bytes: sealed))
        return request
    }

    /// At most 32 characters of base64url (RFC 8030 §5.4).
    package static func topic(_ text: String) -> String {
        EntryID.hash(of: text, prefix: "").text
    }

    /// The outcome of an answer (RFC 8030 §5, §7.3, §8.4).
    package static func outcome(_ status: Int, _ retryAfter: Duration?) -> PushOutcome {
        switch status {
        case 200...299: .accepted
        case 404, 410: .dead(since: nil)
        case 429: .later(retryAfter, "429")
        case 500...599: .unavailable(retryAfter, "\(status)")
        // A subscription made with another key gets this answer; it says nothing about the others.
        default: .refused("\(status)")
        }
    }
}
