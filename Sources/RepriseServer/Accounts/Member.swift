package import RepriseCore
package import RepriseWire

/// A member of a channel.
package struct Member: Hashable, Sendable {
    package enum Role: String, Hashable, Sendable, CaseIterable {
        /// Manages members and settings, and may delete others' messages.
        case owner
        case member
    }

    package var user: UserID
    package var role: Role
    /// The head when the user joined.
    package var joined: Int64
    package var since: WallTime

    package init(user: UserID, role: Role, joined: Int64, since: WallTime) {
        self.user = user
        self.role = role
        self.joined = joined
        self.since = since
    }
}
