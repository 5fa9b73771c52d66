package import RepriseCore
package import RepriseWire

/// The effect of a push on a device, before a provider encodes it.
package struct Push: Hashable, Sendable {
    package var address: PushAddress
    package var hint: PushHint
    package var title: String
    package var subtitle: String?
    package var body: String
    /// Shown in the list, without banner and sound.
    package var isQuiet: Bool
    package var category: String?
    package var isTimeSensitive: Bool
    package var relevance: Double?
    /// The name of its sound; nil: the default.
    package var sound: String?
    package var expires: WallTime

    package init(
        address: PushAddress, hint: PushHint, title: String = "", subtitle: String? = nil,
        body: String = "", isQuiet: Bool = false, category: String? = nil,
        isTimeSensitive: Bool = false, relevance: Double? = nil, sound: String? = nil,
        expires: WallTime
    ) {
        self.address = address
        self.hint = hint
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.isQuiet = isQuiet
        self.category = category
        self.isTimeSensitive = isTimeSensitive
        self.relevance = relevance
        self.sound = sound
        self.expires = expires
    }

    /// Groups pushes into one banner: the message's id, or the subject of the push.
    package var collapse: String {
        switch hint.kind {
        case .alert: hint.id?.text ?? "seq-\(hint.seq)"
        case .badge: "badge"
        case .dismiss: "dismiss-\(hint.channel.text)"
        }
    }
}

/// A provider's answer to a push.
package enum PushOutcome: Hashable, Sendable {
    /// Accepted for delivery.
    case accepted
    /// This push will never be accepted; others may be.
    case refused(String)
    /// The address is invalid; with its time, if the provider names it.
    case dead(since: WallTime?)
    /// Temporarily refused, for this push or this device.
    case later(Duration?, String)
    /// The provider accepts nothing now, or not before a while: it is down, or does not answer.
    /// This push itself is retried after `again`.
    case unavailable(Duration?, String, again: Duration = .zero)
    /// The provider rejects our credentials; an operator must act, and pushes wait for that.
    case unauthorized(String)
}

extension PushOutcome {
    /// The provider's words, which may be foreign; nil where it has none.
    package var reason: String? {
        switch self {
        case .accepted, .dead: nil
        case .refused(let why), .later(_, let why), .unavailable(_, let why, _),
            .unauthorized(let why):
            why
        }
    }
}

/// Sends pushes to devices.
package protocol PushProvider: Sendable {
    var service: PushService { get }
    /// The most pushes in flight.
    var concurrency: Int { get }
    /// Sends one push and returns its outcome, within ``PushLimits/answer``; cancelling it is
    /// `unavailable`.
    func send(_ push: Push) async -> PushOutcome
    /// Reloads the key without closing connections.
    ///
    /// - Returns: whether another key is used from now on.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` for an unusable one: then the old
    ///   one stays.
    func reload() throws -> Bool
    /// Closes its connections.
    func close() async
}

extension PushProvider {
    /// For a provider without a key.
    package func reload() throws -> Bool { false }
}

/// Reports success without sending: for a rehearsal on a real server.
package struct DryRun: PushProvider {
    package let service: PushService
    package var concurrency: Int { 64 }
    let said: @Sendable (Push) -> Void

    package func send(_ push: Push) async -> PushOutcome {
        said(push)
        return .accepted
    }

    package func close() async {}
}
