package import RepriseCore
package import RepriseWire

/// The gateway's view of the accounts: grants and positions.
package protocol ChannelAccounts: Sendable {
    /// A principal's grant in a channel.
    func grant(_ who: Principal, in channel: ChannelName) async throws -> Grant

    /// Moves positions forward, at most to the head; durable when it returns.
    func move(_ move: MovePosition) async throws -> ServerFrame.Position

    /// The positions of a channel's users: `first` before the others.
    func positions(
        of channel: ChannelName, first: UserID?, limit: Int
    ) async throws -> [ServerFrame.Position]

    func memberCount(of channel: ChannelName) async throws -> Int

    /// Whether users' directories are told here.
    var tellsDirectories: Bool { get }

    /// Calls `body` after each durable change of grants: with a user if only that user's access
    /// changed.
    func onAccessChanged(_ body: @escaping @Sendable (ChannelName, UserID?) -> Void)

    /// A device has connected.
    func sawDevice(_ id: EntryID, of user: UserID) async throws
}

extension Accounts: ChannelAccounts {
    package func move(_ move: MovePosition) async throws -> ServerFrame.Position {
        try await perform(move).position
    }

    package func positions(
        of channel: ChannelName, first: UserID?, limit: Int
    ) async throws -> [ServerFrame.Position] {
        try await positions.all(of: channel, first: first, limit: limit)
    }

    package func sawDevice(_ id: EntryID, of user: UserID) async throws {
        try await perform(SawDevice(id, of: user))
    }
}

/// The authenticator and the accounts of a server with users.
package struct Admission: Sendable {
    package var authenticator: any Authenticating
    package var accounts: any ChannelAccounts

    package init(authenticator: any Authenticating, accounts: any ChannelAccounts) {
        self.authenticator = authenticator
        self.accounts = accounts
    }
}

/// A lookup by a connection's authorization cache.
typealias AccessQuestion = AuthorizationCache<ChannelRequest, CachedGrant>.Question

/// A grant, and how many of the loop's ``AccessChanges`` there were when it was asked for.
struct CachedGrant {
    let grant: Grant
    let asked: Int
}

struct AccessAnswer: Sendable {
    let question: AccessQuestion
    let grant: Result<Grant, RepriseError>

    /// Whether it is known that the user has no right there.
    var isRefusal: Bool { if case .success(let grant) = grant { !grant.mayRead } else { false } }

    /// The same where that is not known.
    func unknown(_ error: any Error) -> Self {
        Self(question: question, grant: .failure(Self.unavailable(error)))
    }

    static func unavailable(_ error: any Error) -> RepriseError {
        RepriseError(.unavailable, "The server cannot look at this now.", cause: error)
    }
}

/// A connection's request for one channel.
enum ChannelRequest: Sendable {
    case subscribe(ClientFrame.Subscription, number: Int64?)
    case unsubscribe
    case publish(ClientFrame.Publish)
    case receipt(ClientFrame.Receipt)
    case typing(Bool)
    /// It is subscribed, and its user's grant has changed.
    case lookAgain

    /// Whether a person is looking at the channel, and waits.
    var isFirst: Bool { if case .subscribe(let wanted, _) = self { wanted.isFirst } else { false } }

    /// The bytes of the message that it carries.
    var bodyBytes: Int { if case .publish(let publish) = self { publish.body.count } else { 0 } }
}
