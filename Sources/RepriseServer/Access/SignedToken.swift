import RepriseCore
package import RepriseWire

/// The parts of a JSON Web Token (RFC 7515 §3.1), of which none is believed yet.
package struct SignedToken: Sendable {
    package let header: TokenHeader
    /// What the signature is of: header and claims as they came, with the dot.
    package let signed: [UInt8]
    package let claims: [UInt8]
    package let signature: [UInt8]

    /// Takes a token apart.
    ///
    /// - Parameter token: the token.
    /// - Throws: ``RepriseCore/RepriseError`` `.unauthorized` if its parts or its header are not
    ///   what they must be.
    package init(_ token: AccessToken) throws {
        let parts = token.secret.utf8.split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Base64URL.decoded(parts[0]),
            let claims = Base64URL.decoded(parts[1]),
            let signature = Base64URL.decoded(parts[2])
        else { throw RepriseError(.unauthorized, "The token is not base64url.") }
        self.header = try TokenHeader(header)
        self.claims = claims
        self.signature = signature
        signed = Array(parts[0]) + [UInt8(ascii: ".")] + Array(parts[1])
    }
}

/// What a token says about its signature (RFC 7515 §4).
///
/// It comes from whoever made the token: it chooses among our keys and nothing else. Keys, and
/// places where keys are, that stand in a header (`jwk`, `jku`, `x5c`, `x5u`) are not looked at.
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
            throw RepriseError(.unauthorized, "The token's header cannot be read.", cause: error)
        }
    }

    private init(_ fields: Envelope) throws {
        let scanner = fields.scanner
        // RFC 7515 §4.1.11: who does not know what is critical must refuse; we know nothing that
        // is.
        guard (try? fields.value("crit")) == nil else {
            throw RepriseError(.unauthorized, "The token asks for an extension.")
        }
        guard let algorithm = TokenAlgorithm(rawValue: try scanner.string(try fields.value("alg")))
        else { throw RepriseError(.unauthorized, "A token is signed with ES256 or HS256.") }
        self.algorithm = algorithm
        key = try fields.optional("kid").map(scanner.string)
        guard key.map({ $0.utf8.count <= AccessLimits.keyNameBytes }) ?? true else {
            throw RepriseError(.unauthorized, "The name of the token's key is too long.")
        }
        // RFC 8725 §3.11: what the same keys have signed for another purpose is no way in.
        let type = try fields.optional("typ").map(scanner.string)?.lowercased() ?? "jwt"
        guard ["jwt", "at+jwt", "application/at+jwt"].contains(type) else {
            throw RepriseError(.unauthorized, "This kind of token is not for access.")
        }
    }
}

/// How a token may be signed (RFC 7518 §3.1).
package enum TokenAlgorithm: String, Hashable, Sendable {
    /// HMAC with SHA-256: who can check a token can also make one.
    case hs256 = "HS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
}
