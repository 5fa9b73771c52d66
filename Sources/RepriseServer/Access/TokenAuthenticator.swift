package import RepriseCore
package import RepriseWire

/// Authenticates callers by a JSON Web Token.
///
/// Checks its form, its key and its signature, and only then its claims.
package struct TokenAuthenticator: Authenticating {
    private let keys: any KeyProviding
    private let rules: TokenRules
    private let clock: any Timekeeper
    private static let signInAgain = "Sign in again at this server."

    package init(keys: any KeyProviding, rules: TokenRules, clock: any Timekeeper) {
        self.keys = keys
        self.rules = rules
        self.clock = clock
    }

    package var leeway: Duration { rules.leeway }

    package func principal(of token: AccessToken?) async throws -> Principal {
        guard let token else {
            throw RepriseError.refusedToken(
                "This server asks for a token.",
                remedy: "`reprise token --help` says where one comes from.")
        }
        let signed = try SignedToken(token)
        guard let key = try await keys.key(for: signed.header) else {
            throw RepriseError.refusedToken(
                "The token is signed with a key that this server does not know.",
                remedy: Self.signInAgain)
        }
        guard key.hasSigned(signed) else {
            throw RepriseError.refusedToken(
                "The token's signature is wrong.", remedy: Self.signInAgain)
        }
        return try rules.principal(of: TokenClaims(signed.claims), now: clock.wall())
    }
}
