package import RepriseCore
package import RepriseWire

/// Who asks.
package struct Principal: Hashable, Sendable {
    /// The user; nil where the server asks nobody who he is.
    package var user: UserID?
    /// Whether this one manages everything.
    package var isAdmin: Bool
    /// When what says so ends; nil is never.
    package var expires: WallTime?

    package init(user: UserID?, isAdmin: Bool, expires: WallTime?) {
        self.user = user
        self.isAdmin = isAdmin
        self.expires = expires
    }
}
