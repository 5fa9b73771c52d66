package import RepriseWire

/// Finds out who asks.
package protocol Authenticating: Sendable {
    /// How long after its end a token still counts, for clocks that differ.
    var leeway: Duration { get }

    /// Whose token this is.
    ///
    /// Takes a bounded time, also where keys must be fetched first.
    ///
    /// - Parameter token: nil if the request has none.
    /// - Returns: the user that the token names.
    /// - Throws: ``RepriseCore/RepriseError`` `.unauthorized` if there is no token or it is not one
    ///   of ours; `.tokenExpired` if it was one; `.unavailable` if there are no keys to check it
    ///   with.
    func principal(of token: AccessToken?) async throws -> Principal
}
