package import RepriseCore
package import RepriseWire

/// Makes tokens: for development, for tests, and for `reprise token`.
package struct TokenIssuer: Sendable {
    private let key: SigningKey
    private let audience: String

    /// Makes an issuer.
    ///
    /// - Parameters:
    ///   - key: a private or secret key.
    ///   - audience: the `aud` of its tokens.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if the key is only the public
    ///   half.
    package init(key: SigningKey, audience: String = "reprise") throws {
        guard key.canSign else {
            throw RepriseError(
                .badConfiguration, "This key checks tokens; it cannot make them.",
                remedy: "Give the private key, or the secret.")
        }
        self.key = key
        self.audience = audience
    }

    /// Makes a token.
    ///
    /// - Parameters:
    ///   - user: its `sub`.
    ///   - isAdmin: whether its scope is `admin`.
    ///   - now: its `iat`.
    ///   - lifetime: the time until its `exp`.
    /// - Returns: the token.
    /// - Throws: the errors of signing.
    package func token(
        for user: UserID, isAdmin: Bool = false, now: WallTime, lifetime: Duration
    ) throws -> AccessToken {
        let claims = TokenClaims(
            subject: user, expires: now.advanced(by: lifetime), issued: now,
            audiences: [audience], scopes: isAdmin ? ["admin"] : [])
        return try token(claims)
    }

    /// Makes a token with these claims.
    package func token(_ claims: TokenClaims) throws -> AccessToken {
        var header = JSONWriter()
        header.object { json in
            json.key("alg")
            json.string(key.algorithm.rawValue)
            json.key("typ")
            json.string("JWT")
            guard let name = key.name else { return }
            json.key("kid")
            json.string(name)
        }
        let signed = Base64URL.encoded(header.bytes) + "." + Base64URL.encoded(Self.json(claims))
        let signature = try key.signature(of: Array(signed.utf8))
        return try AccessToken(signed + "." + Base64URL.encoded(signature))
    }

    /// Times in whole seconds, which all parsers accept.
    private static func json(_ claims: TokenClaims) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { json in
            json.key("sub")
            json.string(claims.subject.text)
            json.key("aud")
            json.array { list in claims.audiences.forEach { list.string($0) } }
            json.key("exp")
            json.integer(claims.expires.milliseconds / 1_000)
            if let issued = claims.issued {
                json.key("iat")
                json.integer(issued.milliseconds / 1_000)
            }
            if let start = claims.notBefore {
                json.key("nbf")
                json.integer(start.milliseconds / 1_000)
            }
            guard !claims.scopes.isEmpty else { return }
            json.key("scope")
            json.string(claims.scopes.sorted().joined(separator: " "))
        }
        return writer.bytes
    }
}
