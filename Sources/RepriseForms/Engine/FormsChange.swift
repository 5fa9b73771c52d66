package import RepriseCore

/// A change of whose events and showings these are.
package struct FormsChange: Sendable {
    package let apply: @Sendable (inout FormsStore.Identity) -> (outcome: Outcome, reason: String)?
    /// Why the form on the screen is closed.
    package let reason: String

    /// Events without a user become this user's.
    package static func identify(_ user: String) -> Self {
        Self(
            apply: { identity in
                let former = identity.user
                identity.user = user
                return former == nil || former == user ? nil : (.dead, "loggedOut")
            }, reason: "logout")
    }

    package static let logOut = Self(
        apply: { identity in
            identity.user = nil
            return (.dead, "loggedOut")
        }, reason: "logout")

    /// The standard is the company until another one is set.
    package static func use(company: String, standard: String) -> Self {
        Self(
            apply: { identity in
                let former = identity.company ?? standard
                identity.company = company
                return former == company ? nil : (.superseded, "company")
            }, reason: "company")
    }
}
