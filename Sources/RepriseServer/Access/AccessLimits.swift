/// The bounds of what finds out who comes; `docs/limits.md` lists each with what happens at it.
package enum AccessLimits {
    /// The most bytes of a key file, and of a key set that is fetched.
    package static let keyBytes = 262_144
    /// The most keys of a set.
    package static let keys = 64
    /// The most bytes of a key's name.
    package static let keyNameBytes = 256
    /// The fewest bytes of a secret (RFC 7518 §3.2).
    package static let secretBytes = 32
    /// The most fields of a token's header or claims.
    package static let fields = 128
    /// The most audiences of a token.
    package static let audiences = 64
    /// A key set is not asked for again before so long has passed.
    package static let betweenFetches: Duration = .seconds(30)
    /// As long as there are no keys at all it is asked for sooner.
    package static let betweenFirstFetches: Duration = .seconds(5)
    /// A key set that is older is asked for again: a key that its owner has withdrawn does not
    /// count for ever.
    package static let keysStay: Duration = .seconds(600)
    /// How long a fetch may take.
    package static let fetch: Duration = .seconds(10)
    /// The longest life of a token for development.
    package static let developmentToken: Duration = .seconds(86_400)
}
