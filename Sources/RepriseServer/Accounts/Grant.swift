/// What a principal may do in a channel.
///
/// Valid until `Accounts/onAccessChanged(_:)` names the channel and the user.
package struct Grant: Hashable, Sendable {
    /// Subscribe, read history, send receipts and type.
    package var mayRead: Bool
    package var mayPublish: Bool
    /// Members, settings, and deleting what others published.
    package var mayManage: Bool
    /// `gone(beforeJoin)` up to here; 0 shows all.
    package var joined: Int64
    package var isMember: Bool
    /// The head when the user joined: what lies up to here is not unread.
    ///
    /// 0 for who never joined; see `Unread/start(read:joined:floor:)`.
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

    /// For strangers, and for channels that are not there: nobody can tell the two apart.
    package static let nothing = Grant(mayRead: false, mayPublish: false)
    /// For admins, and where the server asks nobody who he is.
    package static let everything = Grant(mayRead: true, mayPublish: true, mayManage: true)
}
