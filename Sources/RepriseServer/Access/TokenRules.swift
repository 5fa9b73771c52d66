package import RepriseCore

/// The claims that a token with a valid signature must have, for this server and now.
package struct TokenRules: Hashable, Sendable {
    /// The required `aud`.
    package var audience: String
    /// The allowed clock skew.
    package var leeway: Duration

    package init(audience: String, leeway: Duration = .seconds(60)) {
        self.audience = audience
        self.leeway = leeway
    }

    /// The bearer of a token.
    ///
    /// - Parameters:
    ///   - claims: the token's claims.
    ///   - now: this server's wall clock.
    /// - Returns: the user.
    /// - Throws: ``RepriseCore/RepriseError`` `.tokenExpired`, or `.unauthorized` for permanent
    ///   errors.
    package func principal(of claims: TokenClaims, now: WallTime) throws -> Principal {
        guard claims.audiences.contains(audience) else {
            throw RepriseError.refusedToken(
                "The token is not for this server (aud).", remedy: "Sign in again at this server.")
        }
        let earliest = now.advanced(by: leeway)
        if let issued = claims.issued, issued > earliest {
            throw Self.early("was issued", issued, now)
        }
        if let start = claims.notBefore, start > earliest {
            throw Self.early("begins to count", start, now)
        }
        guard now < claims.expires.advanced(by: leeway) else {
            throw RepriseError(
                .tokenExpired,
                "The token ended \(Self.distance(claims.expires, now)) ago, by this server's clock.",
                remedy: "Bring a fresh one.")
        }
        return Principal(
            user: claims.subject, isAdmin: claims.scopes.contains("admin"), expires: claims.expires)
    }

    private static func early(_ what: String, _ then: WallTime, _ now: WallTime) -> RepriseError {
        .refusedToken(
            "The token \(what) \(distance(now, then)) from now, by this server's clock.",
            remedy: "Set the clocks of the server and of what issues tokens.")
    }

    /// A readable distance, in the largest unit that fits.
    private static func distance(_ from: WallTime, _ to: WallTime) -> String {
        let seconds = from.duration(to: to).milliseconds / 1_000
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) days"
        }
    }
}
