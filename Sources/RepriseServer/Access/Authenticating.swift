import RepriseCore
package import RepriseWire

/// Authenticates callers.
package protocol Authenticating: Sendable {
    /// How long a token is valid after its end, to allow for clock skew.
    var leeway: Duration { get }

    /// The user of a token.
    ///
    /// Takes a bounded time, also where keys must be fetched first.
    ///
    /// - Parameter token: nil if the request has none.
    /// - Returns: the user that the token names.
    /// - Throws: ``RepriseCore/RepriseError`` `.unauthorized` without a valid token;
    ///   `.tokenExpired` if it was valid; `.unavailable` without keys to verify it.
    func principal(of token: AccessToken?) async throws -> Principal
}

extension RepriseError {
    /// A token that this server never accepts.
    static func refusedToken(
        _ message: String, remedy: String = "Correct what issues the tokens."
    ) -> RepriseError {
        RepriseError(.unauthorized, message, remedy: remedy)
    }
}
