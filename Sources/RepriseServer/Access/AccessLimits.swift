/// The limits of authentication; `docs/limits/server.md` lists each with its effect.
package enum AccessLimits {
    /// The most bytes of a key file, and of a fetched key set.
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
    /// The shortest interval between fetches of a key set.
    package static let betweenFetches: Duration = .seconds(30)
    /// The shortest interval while no keys are known.
    package static let betweenFirstFetches: Duration = .seconds(5)
    /// The age at which a key set is fetched again, so that a withdrawn key expires.
    package static let keysStay: Duration = .seconds(600)
    /// The timeout of a fetch.
    package static let fetch: Duration = .seconds(10)
    /// The usual life of a development token.
    package static let usualDevelopmentToken: Duration = .seconds(3_600)
    /// The longest life of a development token.
    package static let developmentToken: Duration = .seconds(86_400)
}
