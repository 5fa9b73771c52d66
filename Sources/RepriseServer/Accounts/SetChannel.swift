import GRDB
import RepriseCore
package import RepriseWire

/// Makes a channel or changes it; its maker is its owner, and has joined at its head.
///
/// Its owners and admins may change an existing channel. Only admins may make one that has messages
/// but no record (from before authentication was on): else any user could become the owner of what
/// others wrote.
package struct SetChannel: AccountCommand {
    package var name: ChannelName
    /// All settings, not only changes.
    package var settings: ChannelSettings
    package var who: Principal

    package struct Outcome: Sendable {
        /// The channel as it is now.
        package let record: ChannelRecord
        package let isNew: Bool
        fileprivate let affectsAccess: Bool
        fileprivate let isTold: Bool
    }

    package init(_ name: ChannelName, _ settings: ChannelSettings, by who: Principal) {
        (self.name, self.settings, self.who) = (name, settings, who)
    }

    package func validate() throws { try settings.validate() }

    /// - Throws: ``RepriseCore/RepriseError`` `.refused` without the right, `.full` at
    ///   ``AccountLimits/channelsMade``; `.refused` for an inbox of a channel whose members are not
    ///   all owners.
    package func apply(in view: AccountsView) throws -> Outcome {
        let former = try ChannelRecord.fetch(name, view.db)
        let member = try who.user.flatMap { try Member.fetch($0, of: name, view.db) }
        let head = former == nil ? try view.head(of: name) : 0
        let mayChange = former == nil ? who.user != nil && head == 0 : member?.role == .owner
        guard !(view.tellsDirectories && name.isDirectory), who.isAdmin || mayChange else {
            throw RepriseError(.refused, "Only its owners and admins may change this channel.")
        }
        if settings.visibility == .inbox { try expectOwnersAlone(view.db) }
        if former == nil, let maker = who.user, !who.isAdmin {
            try ChannelRecord.expectRoom(forChannelsOf: maker, view.db)
        }
        let record = ChannelRecord(
            name: name, settings: settings, maker: former.map(\.maker) ?? who.user,
            made: former?.made ?? view.time)
        try record.save(view.db)
        if former == nil, let maker = who.user {
            try Member(user: maker, role: .owner, joined: head, since: view.time)
                .save(in: name, view.db)
        }
        let isTold =
            former?.settings.title != settings.title
            || former?.settings.visibility != settings.visibility
        if isTold { try view.tellMembers(of: name) }
        let affectsAccess =
            former?.settings.visibility != settings.visibility
            || former?.settings.history != settings.history
        return Outcome(
            record: record, isNew: former == nil, affectsAccess: affectsAccess, isTold: isTold)
    }

    /// A member without the right to read would still get pushes and unread counts.
    private func expectOwnersAlone(_ db: Database) throws {
        let hasOthers = try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS (SELECT 1 FROM members WHERE channel = ? AND role <> 'owner')",
            arguments: [name.text])
        guard hasOthers != true else {
            throw RepriseError(
                .refused, "The members of an inbox are its owners, and this channel has others.",
                remedy: "Remove them, or make them owners.")
        }
    }

    package func effects(of outcome: Outcome) -> AccountEffects {
        var effects = AccountEffects()
        if outcome.affectsAccess { effects.access = .init(channel: name, user: nil) }
        effects.isTold = outcome.isTold
        if outcome.isNew, let user = who.user {
            effects.unread = .init(user: user, channel: name)
        }
        return effects
    }
}
