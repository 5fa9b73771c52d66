package import RepriseCore
package import RepriseWire

/// What is to be shown or done on a device, before a provider makes bytes of it.
package struct Push: Hashable, Sendable {
    package var address: PushAddress
    package var hint: PushHint
    package var title: String
    package var body: String
    /// Into the list, without banner and sound.
    package var isQuiet: Bool
    package var category: String?
    package var expires: WallTime

    package init(
        address: PushAddress, hint: PushHint, title: String = "", body: String = "",
        isQuiet: Bool = false, category: String? = nil, expires: WallTime
    ) {
        self.address = address
        self.hint = hint
        self.title = title
        self.body = body
        self.isQuiet = isQuiet
        self.category = category
        self.expires = expires
    }

    /// By which several pushes are one banner: the message's id, or what the push is about.
    package var collapse: String {
        switch hint.kind {
        case .alert: hint.id?.text ?? "seq-\(hint.seq)"
        case .badge: "badge"
        case .dismiss: "dismiss-\(hint.channel.text)"
        }
    }
}

/// What a provider said of a push.
package enum PushOutcome: Hashable, Sendable {
    /// It has taken it on.
    case accepted
    /// This push will never be taken, others may be.
    case refused(String)
    /// The address is dead; with a moment, if the provider says since when.
    case dead(since: WallTime?)
    /// Not now, for this push or this device.
    case later(Duration?, String)
    /// The provider takes none at all now, or not before a while: it is down, or does not answer.
    /// This push itself comes again after `again`.
    case unavailable(Duration?, String, again: Duration = .zero)
    /// The provider does not take our word for who we are; a person has to see to it, and pushes
    /// wait for that.
    case unauthorized(String)
}

/// Takes pushes to devices.
package protocol PushProvider: Sendable {
    var service: PushService { get }
    /// How many pushes may be under way at a time.
    var concurrency: Int { get }
    /// Sends one push and says what became of it, within ``PushLimits/answer``; cancelling it is
    /// `unavailable`.
    func send(_ push: Push) async -> PushOutcome
    /// Reads the key again, without touching a connection.
    ///
    /// - Returns: whether another key is used from now on.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` for one that cannot be used: then
    ///   the old one stays.
    func reload() throws -> Bool
    /// Ends its connections.
    func close() async
}

extension PushProvider {
    /// Of a provider without a key.
    package func reload() throws -> Bool { false }
}

/// Sends nothing and says that it has: for a rehearsal on a real server.
package struct DryRun: PushProvider {
    package let service: PushService
    package var concurrency: Int { 64 }
    private let said: @Sendable (Push) -> Void

    package init(_ service: PushService, said: @escaping @Sendable (Push) -> Void) {
        self.service = service
        self.said = said
    }

    package func send(_ push: Push) async -> PushOutcome {
        said(push)
        return .accepted
    }

    package func close() async {}
}
