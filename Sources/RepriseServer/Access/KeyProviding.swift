/// Where an authenticator gets its keys.
package protocol KeyProviding: Sendable {
    /// The key that a token claims to be signed with.
    ///
    /// - Parameter header: what the token says.
    /// - Returns: nil if there is no such key.
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if there are no keys at all.
    func key(for header: TokenHeader) async throws -> SigningKey?

    /// Reads the keys again, now; what cannot be read leaves the old ones in place.
    func reload() async
}
