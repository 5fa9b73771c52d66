package import RepriseCore
package import RepriseWire

/// Channels, members, devices and positions: `accounts.sqlite`, beside the log.
package final class Accounts: Sendable {
    /// Opens what is in the folder, and makes it where there is nothing yet.
    ///
    /// - Parameters:
    ///   - folder: the data folder; the server that owns the log there owns this too.
    ///   - implicitChannels: whether a channel that nobody made is a public one.
    package static func open(at folder: String, implicitChannels: Bool) throws -> Accounts {
        Accounts()
    }

    /// What somebody may do in a channel.
    package func grant(_ who: Principal, in channel: ChannelName) async throws -> Grant {
        .everything
    }

    /// A channel that somebody has made; nil for any other.
    package func channel(_ name: ChannelName) async throws -> ChannelRecord? { nil }

    /// Makes a channel or changes it; its maker is its owner.
    ///
    /// - Parameters:
    ///   - name: the channel.
    ///   - settings: all of them, not only those that change.
    ///   - who: asks; a channel that is there is for its owners and admins, one that has messages but no record for admins.
    ///   - time: now.
    ///   - head: the channel's newest sequence.
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` for who may not.
    @discardableResult
    package func setChannel(
        _ name: ChannelName, _ settings: ChannelSettings, by who: Principal, at time: WallTime,
        head: Int64
    ) async throws -> ChannelRecord {
        ChannelRecord(name: name, settings: settings, maker: who.user, made: time)
    }

    /// The channels of a user, or all for nil, in the order of their names.
    package func channels(
        of user: UserID?, after: ChannelName?, limit: Int
    ) async throws -> [ChannelRecord] { [] }

    /// The members of a channel, in the order of their names.
    package func members(
        of channel: ChannelName, after: UserID?, limit: Int
    ) async throws -> [Member] { [] }

    /// One member of a channel; nil for who is none.
    package func member(_ user: UserID, in channel: ChannelName) async throws -> Member? { nil }

    package func memberCount(of channel: ChannelName) async throws -> Int { 0 }

    /// Adds a member, or changes the role of one who is there and keeps `joined` and `since`.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` if there is no such channel, `.full` at ``AccountLimits/members``.
    @discardableResult
    package func setMember(
        _ user: UserID, role: Member.Role, joined: Int64, in channel: ChannelName, at time: WallTime
    ) async throws -> Member {
        Member(user: user, role: role, joined: joined, since: time)
    }

    /// - Returns: whether the user was a member.
    @discardableResult
    package func removeMember(_ user: UserID, from channel: ChannelName) async throws -> Bool {
        false
    }

    /// Moves positions forward; durable when it returns, and grouped with what else waits.
    ///
    /// - Returns: where the user stands then.
    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``AccountLimits/waitingMoves``; what the disk throws.
    package func move(_ move: PositionMove) async throws -> ServerFrame.Position {
        ServerFrame.Position(
            user: move.user, read: move.read ?? 0, delivered: move.delivered ?? 0)
    }

    /// Where the users of a channel stand: `first` before the others, even if he stands at 0, and they in the order of their names.
    package func positions(
        of channel: ChannelName, first: UserID?, limit: Int
    ) async throws -> [ServerFrame.Position] { [] }

    package func devices(of user: UserID) async throws -> [Device] { [] }

    /// Registers a device, or changes it; beyond ``AccountLimits/devices`` the one not seen for longest is forgotten.
    package func setDevice(_ device: Device, of user: UserID) async throws {}

    /// - Returns: whether there was one.
    @discardableResult
    package func removeDevice(_ id: EntryID, of user: UserID) async throws -> Bool { false }

    /// A device has connected.
    package func sawDevice(_ id: EntryID, of user: UserID, at time: WallTime) async throws {}

    /// Calls `body` after each durable change of what users may do: with a user if only his access changed. Set once, by the server.
    package func onAccessChanged(_ body: @escaping @Sendable (ChannelName, UserID?) -> Void) {}

    package func close() async {}
}
