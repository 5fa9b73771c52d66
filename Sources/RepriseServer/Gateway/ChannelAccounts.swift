package import RepriseCore
package import RepriseWire

/// What the gateway asks of the accounts: who may do what, and who has read how far.
package protocol ChannelAccounts: Sendable {
    /// What somebody may do in a channel.
    func grant(_ who: Principal, in channel: ChannelName) async throws -> Grant

    /// Moves positions forward; durable when it returns.
    func move(_ move: PositionMove) async throws -> ServerFrame.Position

    /// Where the users of a channel stand: `first` before the others.
    func positions(
        of channel: ChannelName, first: UserID?, limit: Int
    ) async throws -> [ServerFrame.Position]

    func memberCount(of channel: ChannelName) async throws -> Int

    /// Calls `body` after each durable change of what users may do: with a user if only his access
    /// changed.
    func onAccessChanged(_ body: @escaping @Sendable (ChannelName, UserID?) -> Void)

    /// A device has connected.
    func sawDevice(_ id: EntryID, of user: UserID, at time: WallTime) async throws
}

extension Accounts: ChannelAccounts {}

/// Who finds out who comes, and who knows what they may do: what a server needs to know users.
package struct Admission: Sendable {
    package var authenticator: any Authenticating
    package var accounts: any ChannelAccounts

    package init(authenticator: any Authenticating, accounts: any ChannelAccounts) {
        self.authenticator = authenticator
        self.accounts = accounts
    }
}

/// A question of a connection's desk, and the answer.
typealias AccessQuestion = AccessDesk<ChannelRequest, Grant>.Question

struct AccessAnswer: Sendable {
    let question: AccessQuestion
    let grant: Result<Grant, RepriseError>
}

/// What a connection wants of one channel.
enum ChannelRequest: Sendable {
    case subscribe(ClientFrame.Subscription, number: Int64?)
    case unsubscribe
    case publish(ClientFrame.Publish)
    case receipt(ClientFrame.Receipt)
    case typing(Bool)
    /// It is subscribed, and what its user may do has changed.
    case lookAgain

    /// Whether a person looks at the channel, and waits.
    var isFirst: Bool { if case .subscribe(let wanted, _) = self { wanted.isFirst } else { false } }
}
