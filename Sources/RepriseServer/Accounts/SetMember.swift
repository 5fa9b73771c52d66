import GRDB
import RepriseCore
package import RepriseWire

/// Adds a member, who has joined at the channel's head; or changes an existing member's role and
/// keeps `joined` and `since`.
///
/// A manager of the channel may add any user; a user who reads it may join, without becoming an
/// owner. Where channels that nobody made are public, this creates a record of a public channel
/// without an owner.
package struct SetMember: AccountCommand {
    package var user: UserID
    package var role: Member.Role
    package var channel: ChannelName
    package var who: Principal

    package struct Outcome: Sendable {
        /// The member as it is now.
        package let member: Member
        package let isNew: Bool
        fileprivate let affectsAccess: Bool
    }

    package init(_ user: UserID, _ role: Member.Role, in channel: ChannelName, by who: Principal) {
        (self.user, self.role, self.channel, self.who) = (user, role, channel, who)
    }

    /// Whether `grant` allows it to the caller.
    package func isAllowed(by grant: Grant) -> Bool {
        grant.mayManage || grant.mayRead && who.user == user && role == .member
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.refused` without the right, if the channel does
    ///   not exist, and for a role but owner in an inbox; `.full` at ``AccountLimits/members``, and
    ///   at ``AccountLimits/membersMade`` unless the caller is an admin or the user.
    package func apply(in view: AccountsView) throws -> Outcome {
        guard isAllowed(by: try view.grant(who, in: channel)) else { throw Member.notAllowed }
        if role != .owner,
            try ChannelRecord.fetch(channel, view.db)?.settings.visibility == .inbox
        {
            throw RepriseError(
                .refused, "The members of an inbox are its owners.",
                remedy: "Say role: owner; everybody may publish without being a member.")
        }
        let former = try Member.fetch(user, of: channel, view.db)
        guard let former else { return try add(in: view) }
        var member = former
        member.role = role
        if former != member {
            try member.save(in: channel, view.db)
            try view.tell(user, of: channel)
        }
        return Outcome(member: member, isNew: false, affectsAccess: former != member)
    }

    private func add(in view: AccountsView) throws -> Outcome {
        try ChannelRecord.expectRoom(in: channel, view.db)
        if !who.isAdmin, who.user != user {
            try ChannelRecord.expectRoom(forMembersOf: channel, view.db)
        }
        if try ChannelRecord.fetch(channel, view.db) == nil {
            guard view.implicitChannels else {
                throw RepriseError(.refused, "There is no such channel.")
            }
            try ChannelRecord(
                name: channel, settings: ChannelSettings(), maker: nil, made: view.time
            ).save(view.db)
        }
        let member = Member(
            user: user, role: role, joined: try view.head(of: channel), since: view.time)
        try member.save(in: channel, view.db)
        try view.tell(user, of: channel)
        try view.tellNamedMembers(of: channel)
        return Outcome(member: member, isNew: true, affectsAccess: true)
    }

    package func effects(of outcome: Outcome) -> AccountEffects {
        outcome.affectsAccess ? AccountEffects(membershipOf: user, in: channel) : AccountEffects()
    }
}

/// Ends a membership; the user's positions stay.
///
/// A manager of the channel may end any membership, a user their own.
package struct RemoveMember: AccountCommand {
    package var user: UserID
    package var channel: ChannelName
    package var who: Principal

    package init(_ user: UserID, from channel: ChannelName, by who: Principal) {
        (self.user, self.channel, self.who) = (user, channel, who)
    }

    /// - Returns: whether the user was a member.
    /// - Throws: ``RepriseCore/RepriseError`` `.refused` without the right.
    package func apply(in view: AccountsView) throws -> Bool {
        let mayManage = try view.grant(who, in: channel).mayManage
        guard mayManage || who.user == user else { throw Member.notAllowed }
        try view.db.execute(
            sql: "DELETE FROM members WHERE channel = ? AND user = ?",
            arguments: [channel.text, user.text])
        guard view.db.changesCount > 0 else { return false }
        try SetArchived.remove(user, channel, view.db)
        try view.db.execute(
            sql: "UPDATE channels SET members = members - 1 WHERE name = ?",
            arguments: [channel.text])
        try view.tell(user, of: channel)
        try view.tellNamedMembers(of: channel)
        return true
    }

    package func effects(of wasMember: Bool) -> AccountEffects {
        wasMember ? AccountEffects(membershipOf: user, in: channel) : AccountEffects()
    }
}

extension AccountEffects {
    fileprivate init(membershipOf user: UserID, in channel: ChannelName) {
        access = AccessChange(channel: channel, user: user)
        unread = Reader(user: user, channel: channel)
        isTold = true
    }
}

extension Member {
    fileprivate static var notAllowed: RepriseError {
        RepriseError(.refused, "Only the channel's owners and admins may change its members.")
    }
}
