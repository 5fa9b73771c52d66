import RepriseCore
package import RepriseWire

/// The parts of a JSON Web Token (RFC 7515 §3.1), before verification.
package struct SignedToken: Sendable {
    package let header: TokenHeader
    /// The signed bytes: header and claims as received, with the dot.
    package let signed: [UInt8]
    package let claims: [UInt8]
    package let signature: [UInt8]

    /// Parses a token.
    ///
    /// - Parameter token: the token.
    /// - Throws: ``RepriseCore/RepriseError`` `.unauthorized` if its parts or its header are
    ///   invalid.
    package init(_ token: AccessToken) throws {
        let parts = token.secret.utf8.split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decoded(parts[0]),
            let claims = Base64URL.decoded(parts[1]),
            let signature = Base64URL.decoded(parts[2])
        else {
            throw RepriseError.refusedToken(
                "The token is not base64url.", remedy: "Send it as it was issued.")
        }
        self.header = try TokenHeader(header)
        self.claims = claims
        self.signature = signature
        signed = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
    }
}

/// A token's header (RFC 7515 §4).
///
/// Untrusted: it selects one of the known keys and nothing else. Keys and locations of keys in a
/// header (`jwk`, `jku`, `x5c`, `x5u`) are ignored.
package struct TokenHeader: Hashable, Sendable {
    package let algorithm: TokenAlgorithm
    /// The name of the key.
    package let key: String?

    package init(_ json: [UInt8]) throws {
        do {
            self = try json.withUnsafeBufferPointer { bytes in
                try TokenHeader(Envelope(bytes, fieldLimit: AccessLimits.fields))
            }
        } catch let error as RepriseError where error.code == .malformed {
            throw RepriseError.refusedToken("The token's header cannot be read. \(error.message)")
        }
    }

    private init(_ fields: Envelope) throws {
        // RFC 7515 §4.1.11: unknown critical extensions must be refused; none is known here.
        guard (try? fields.value("crit")) == nil else {
            throw RepriseError.refusedToken("The token asks for an extension (crit).")
        }
        guard let algorithm = TokenAlgorithm(rawValue: try fields.string("alg")) else {
            throw RepriseError.refusedToken("A token is signed with ES256 or HS256 (alg).")
        }
        self.algorithm = algorithm
        key = try fields.optional("kid").map { _ in try fields.string("kid") }
        guard key.map({ $0.utf8.count <= AccessLimits.keyNameBytes }) ?? true else {
            throw RepriseError.refusedToken("The name of the token's key is too long (kid).")
        }
        // RFC 8725 §3.11: refuses tokens that the same keys have signed for another purpose.
        let type = try fields.optional("typ").map { _ in try fields.string("typ") } ?? "JWT"
        guard ["jwt", "at+jwt", "application/at+jwt"].contains(type.lowercased()) else {
            throw RepriseError.refusedToken("This kind of token is not for access (typ).")
        }
    }
}

/// A token's signature algorithm (RFC 7518 §3.1).
package enum TokenAlgorithm: String, Hashable, Sendable {
    /// HMAC with SHA-256: a key that verifies can also sign.
    case hs256 = "HS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
}
