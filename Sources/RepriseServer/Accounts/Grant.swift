/// A principal's rights in a channel.
///
/// Valid until `Accounts/onAccessChanged(_:)` names the channel and the user.
package struct Grant: Hashable, Sendable {
    /// Subscribe, read history, send receipts and type.
    package var mayRead: Bool
    package var mayPublish: Bool
    /// Manage members and settings, and delete others' messages.
    package var mayManage: Bool
    /// `gone(beforeJoin)` up to here; 0 shows all.
    package var joined: Int64
    package var isMember: Bool
    /// The head when the user joined; messages up to here are not unread.
    ///
    /// 0 for a user who never joined; see `Unread/start(read:joined:floor:)`.
    package var unreadAfter: Int64

    package init(
        mayRead: Bool, mayPublish: Bool, mayManage: Bool = false, joined: Int64 = 0,
        isMember: Bool = false, unreadAfter: Int64 = 0
    ) {
        self.mayRead = mayRead
        self.mayPublish = mayPublish
        self.mayManage = mayManage
        self.joined = joined
        self.isMember = isMember
        self.unreadAfter = unreadAfter
    }

    /// For users without access, and for missing channels: the two are indistinguishable.
    package static let nothing = Grant(mayRead: false, mayPublish: false)
    /// For admins, and under open access.
    package static let everything = Grant(mayRead: true, mayPublish: true, mayManage: true)
}

extension Grant {
    /// The rules: see `Accounts/grant(_:in:)`.
    package init(
        _ who: Principal, _ record: ChannelRecord?, _ member: Member?, implicitChannels: Bool
    ) {
        let visibility = record?.settings.visibility ?? (implicitChannels ? .public : nil)
        let isIn =
            switch visibility {
            case .public?: true
            case .private?: member != nil
            case .inbox?: member?.role == .owner
            case nil: false
            }
        // Non-members of a public channel see all of it, so a member must not see less.
        let sees = visibility == .private && record?.settings.history == .sinceJoin
        self.init(
            mayRead: isIn || who.isAdmin, mayPublish: isIn || who.isAdmin || visibility == .inbox,
            mayManage: who.isAdmin || (isIn && member?.role == .owner),
            joined: sees && !who.isAdmin ? member?.joined ?? 0 : 0, isMember: member != nil,
            unreadAfter: member?.joined ?? 0)
    }
}
