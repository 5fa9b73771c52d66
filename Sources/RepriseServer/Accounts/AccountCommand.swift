package import GRDB
package import RepriseCore
package import RepriseWire

/// A change of the accounts: who wants what, and nothing that was read before.
///
/// Whether it is allowed, and what it comes to, is decided by ``apply(in:)``, in the transaction
/// that writes it. So nothing that changes between a request and its commit is missed, and the same
/// commands in the same order come to the same rows.
///
/// ```swift
/// let set = try await accounts.perform(SetMember(bob, .member, in: channel, by: principal))
/// if set.isNew { greet(set.member) }
/// ```
package protocol AccountCommand: Sendable {
    associatedtype Outcome: Sendable

    /// Checks what needs no rows.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, `.tooLarge`.
    func validate() throws

    /// Decides and writes; what it wrote before it threw is undone.
    ///
    /// Deterministic: it asks no clock, no random source and nothing outside of `view`.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` without the right, `.full`.
    func apply(in view: AccountsView) throws -> Outcome

    /// What others have to hear of once an outcome is durable.
    func effects(of outcome: Outcome) -> AccountEffects
}

extension AccountCommand {
    package func validate() throws {}

    package func effects(of outcome: Outcome) -> AccountEffects { AccountEffects() }
}

/// What others have to hear of once a command is durable.
package struct AccountEffects: Hashable, Sendable {
    package struct AccessChange: Hashable, Sendable {
        package var channel: ChannelName
        /// Nil if everybody's grants have changed.
        package var user: UserID?
    }

    /// The channel, and the user, whose grants have changed.
    package var access: AccessChange?
    /// The user and channel whose unread count has changed.
    package var unread: Reader?
    /// A user's new position.
    package var moved: Move?
    /// The number of pushes that were queued for a user's other devices.
    package var dismissals = 0
    /// Whether rows were written that a directory has to tell.
    package var isTold = false
    /// A user who has begun or ceased to hide his presence.
    package var hiding: Hiding?

    package struct Hiding: Hashable, Sendable {
        package var user: UserID
        package var isHidden: Bool
    }

    package struct Move: Hashable, Sendable {
        package var channel: ChannelName
        package var position: ServerFrame.Position
    }

    package struct Reader: Hashable, Sendable {
        package var user: UserID
        package var channel: ChannelName
    }
}

/// The newest sequence of a channel, as far as it is durable.
package typealias ChannelHeads = @Sendable (ChannelName) throws -> Int64

/// What a command is decided by.
package struct AccountsView {
    package let db: Database
    /// When it is applied.
    package let time: WallTime
    /// Whether a channel that nobody made is public.
    package let implicitChannels: Bool
    let heads: (ChannelName) throws -> Int64
    /// Queues dismissals after a read, in the same transaction.
    let pushes: PushQueue
    /// Whether users' directories are told of changes: see ``DirectoryPublisher``.
    let tellsDirectories: Bool

    package func head(of channel: ChannelName) throws -> Int64 { try heads(channel) }

    /// See ``Accounts/grant(_:in:)``.
    func grant(_ who: Principal, in channel: ChannelName) throws -> Grant {
        if tellsDirectories, channel.isDirectory { return .inDirectory(channel, who) }
        return try Grant.fetch(who, in: channel, implicitChannels: implicitChannels, db)
    }
}

extension Grant {
    static func fetch(
        _ who: Principal, in channel: ChannelName, implicitChannels: Bool, _ db: Database
    ) throws -> Grant {
        if who.user == nil { return who.isAdmin ? .everything : .nothing }
        let record = try ChannelRecord.fetch(channel, db)
        let member = try who.user.flatMap { try Member.fetch($0, of: channel, db) }
        return Grant(who, record, member, implicitChannels: implicitChannels)
    }
}
