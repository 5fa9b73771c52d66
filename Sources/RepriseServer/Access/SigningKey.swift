import Foundation
package import JWTKit
import RepriseCore

/// A key that signs tokens, for one algorithm only.
///
/// The algorithm belongs to the key. So a token that names another algorithm finds no key, and the
/// public half of an ES256 key is never taken for the secret of HS256.
package struct SigningKey: Sendable {
    package let algorithm: TokenAlgorithm
    /// Its `kid`.
    package let name: String?
    /// Whether it can sign tokens too.
    package let canSign: Bool
    private let key: any JWTAlgorithm

    /// A secret.
    ///
    /// - Parameters:
    ///   - secret: at least 32 bytes.
    ///   - name: its `kid`.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` if it is too short.
    package init(secret: [UInt8], name: String? = nil) async throws {
        guard secret.count >= AccessLimits.secretBytes else {
            throw RepriseError(
                .badConfiguration,
                "A secret for HS256 has at least \(AccessLimits.secretBytes) bytes.",
                remedy: "Make one: openssl rand -base64 32.")
        }
        algorithm = .hs256
        self.name = name
        canSign = true
        key = try await JWTKeyCollection()
            .add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256).getKey()
    }

    /// The public half of an ES256 key.
    package init(_ publicKey: ES256PublicKey, name: String? = nil) async throws {
        algorithm = .es256
        self.name = name
        canSign = false
        key = try await JWTKeyCollection().add(ecdsa: publicKey).getKey()
    }

    /// An ES256 key.
    package init(_ privateKey: ES256PrivateKey, name: String? = nil) async throws {
        algorithm = .es256
        self.name = name
        canSign = true
        key = try await JWTKeyCollection().add(ecdsa: privateKey).getKey()
    }

    /// Whether the token was signed with this key.
    package func hasSigned(_ token: SignedToken) -> Bool {
        guard token.header.algorithm == algorithm else { return false }
        return (try? key.verify(token.signature, signs: token.signed)) ?? false
    }

    func signature(of text: [UInt8]) throws -> [UInt8] { try key.sign(text) }
}
