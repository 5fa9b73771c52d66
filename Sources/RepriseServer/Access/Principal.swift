package import RepriseCore
package import RepriseWire

/// The caller, as far as the server knows.
package struct Principal: Hashable, Sendable {
    /// The user; nil where access is open.
    package var user: UserID?
    /// Whether the caller manages every channel and may publish anywhere.
    package var isAdmin: Bool
    /// When the token expires; nil without one.
    package var expires: WallTime?

    package init(user: UserID?, isAdmin: Bool = false, expires: WallTime? = nil) {
        self.user = user
        self.isAdmin = isAdmin
        self.expires = expires
    }

    /// Any client under open access: without a name, and allowed everything.
    package static let open = Principal(user: nil, isAdmin: true)

    /// A client before authentication: allowed nothing.
    package static let nobody = Principal(user: nil)
}
