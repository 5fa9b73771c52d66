import Foundation
import JWTKit
import RepriseCore
import RepriseServer
import RepriseTesting
import RepriseWire

/// Makes tokens of every kind, honest and not.
struct TokenForge: Sendable {
    static let secret = Array("a secret of thirty-two bytes, yes!".utf8)

    let time = ManualClock()
    let secretKey: SigningKey
    let curveKey: SigningKey
    let curve = ES256PrivateKey()

    init() async throws {
        secretKey = try await SigningKey(secret: Self.secret, name: "secret")
        curveKey = try await SigningKey(curve, name: "curve")
    }

    var keys: KeySet { KeySet([secretKey, curveKey]) }

    func authenticator(
        _ keys: KeySet? = nil, audience: String = "reprise"
    ) -> TokenAuthenticator {
        TokenAuthenticator(
            keys: FixedKeys(set: keys ?? self.keys), rules: TokenRules(audience: audience),
            clock: time)
    }

    /// Claims that are good for an hour; `change` spoils them.
    func claims(_ change: (inout TokenClaims) -> Void = { _ in }) throws -> TokenClaims {
        var claims = TokenClaims(
            subject: try UserID("ada"), expires: time.wall().advanced(by: .seconds(3_600)),
            issued: time.wall(), audiences: ["reprise"])
        change(&claims)
        return claims
    }

    func token(_ change: (inout TokenClaims) -> Void = { _ in }) throws -> AccessToken {
        try TokenIssuer(key: curveKey).token(try claims(change))
    }

    /// A token with any header and claims, signed by any algorithm that jwt-kit has.
    static func token(
        header: String, claims: String, signedBy key: (any JWTAlgorithm)?
    ) throws -> AccessToken {
        let signed = base64URL(Array(header.utf8)) + "." + base64URL(Array(claims.utf8))
        let signature = try key?.sign(Array(signed.utf8)) ?? []
        return try AccessToken(signed + "." + base64URL(signature))
    }

    static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .trimmingCharacters(in: CharacterSet(charactersIn: "="))
    }
}

struct FixedKeys: KeyProviding {
    let set: KeySet

    func key(for header: TokenHeader) async throws -> SigningKey? { set.key(for: header) }
    func reload() async {}
}

/// What an asynchronous call throws, as a `RepriseError`.
func failure(_ body: () async throws -> some Any) async -> RepriseError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? RepriseError
    }
}
