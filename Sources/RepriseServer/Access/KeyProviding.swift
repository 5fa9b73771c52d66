/// An authenticator's source of keys.
package protocol KeyProviding: Sendable {
    /// The key that a token claims to be signed with.
    ///
    /// - Parameter header: the token's header.
    /// - Returns: nil without such a key.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if no keys are known.
    func key(for header: TokenHeader) async throws -> SigningKey?

    /// Reloads the keys; if that fails the old ones stay.
    func reload() async
}
