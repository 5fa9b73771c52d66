package import RepriseCore

/// What a token with a good signature must say as well, for this server and now.
package struct TokenRules: Hashable, Sendable {
    /// What `aud` must name.
    package var audience: String
    /// How far the signer's clock may be off.
    package var leeway: Duration

    package init(audience: String, leeway: Duration = .seconds(60)) {
        self.audience = audience
        self.leeway = leeway
    }

    /// Who the bearer is.
    ///
    /// - Parameters:
    ///   - claims: what the token says.
    ///   - now: this server's calendar.
    /// - Returns: the user.
    /// - Throws: ``RepriseCore/RepriseError`` `.tokenExpired`, or `.unauthorized` for what no
    ///   waiting mends.
    package func principal(of claims: TokenClaims, now: WallTime) throws -> Principal {
        guard claims.audiences.contains(audience) else {
            throw RepriseError(.unauthorized, "The token is not for this server (aud).")
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
        RepriseError(
            .unauthorized,
            "The token \(what) \(distance(now, then)) from now, by this server's clock.",
            remedy: "Set the clocks of the server and of what issues tokens.")
    }

    /// As a person says it, in the largest unit that fits.
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
