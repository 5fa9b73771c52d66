package import RepriseCore
import RepriseWire

/// Authenticates the server to push services (RFC 8292): a token per service, used for some hours.
package struct VAPID: Sendable {
    private let key: PushKey
    private let subject: String
    private var tokens: [String: (text: String, expires: WallTime)] = [:]

    /// - Parameters:
    ///   - key: the key that browsers have subscribed with.
    ///   - subject: `mailto:` or `https:`, the contact for operators of push services.
    package init(key: PushKey, subject: String) {
        self.key = key
        self.subject = subject
    }

    /// The value of `Authorization`.
    ///
    /// - Parameters:
    ///   - origin: the push service.
    ///   - clock: the calendar.
    /// - Returns: the same one for hours, unless the calendar is set.
    /// - Throws: the errors of signing.
    package mutating func authorization(
        for origin: String, clock: any Timekeeper
    ) throws -> String {
        let now = clock.wall()
        if let token = tokens[origin], Self.isUsable(now.duration(to: token.expires)) {
            return token.text
        }
        let expires = now.advanced(by: PushLimits.vapidLife)
        let token = try key.token {
            $0.key("typ")
            $0.plain("JWT")
            $0.key("alg")
            $0.plain("ES256")
        } claims: {
            $0.key("aud")
            $0.string(origin)
            $0.key("exp")
            $0.integer(expires.milliseconds / 1_000)
            $0.key("sub")
            $0.string(subject)
        }
        let text = "vapid t=\(token), k=\(key.publicText)"
        if tokens.count >= PushLimits.vapidTokens { tokens.removeAll() }
        tokens[origin] = (text, expires)
        return text
    }

    /// Whether a token with this much time left is young, and not of a calendar that was set since:
    /// push services refuse an end that is past, or more than 24 hours away.
    private static func isUsable(_ left: Duration) -> Bool {
        left > PushLimits.vapidLife - PushLimits.vapidAge && left <= PushLimits.vapidLife
    }
}
