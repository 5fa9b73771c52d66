package import RepriseCore
package import RepriseWire

/// Who asks, as far as the server knows.
package struct Principal: Hashable, Sendable {
    /// The user; nil where the server asks nobody who he is.
    package var user: UserID?
    /// Whether it manages every channel and may publish anywhere.
    package var isAdmin: Bool
    /// When the token ends; nil where there is none.
    package var expires: WallTime?

    package init(user: UserID?, isAdmin: Bool = false, expires: WallTime? = nil) {
        self.user = user
        self.isAdmin = isAdmin
        self.expires = expires
    }

    /// Whoever comes where access is open: without a name, and allowed everything.
    package static let open = Principal(user: nil, isAdmin: true)

    /// Who has not said yet who it is: allowed nothing.
    package static let nobody = Principal(user: nil)
}
