package import Crypto
import Foundation
import RepriseCore
package import RepriseWire

/// A private key on P-256 from a file, which authenticates the server to push providers.
package struct PushKey: Sendable, CustomStringConvertible {
    package let key: P256.Signing.PrivateKey

    package init(_ key: P256.Signing.PrivateKey) { self.key = key }

    /// The public half, uncompressed, in base64url, for browsers' subscriptions.
    package var publicText: String { Base64URL.encoded(key.publicKey.x963Representation) }

    package var description: String { "(private key)" }

    /// Reads a key.
    ///
    /// - Parameters:
    ///   - path: a PEM, such as Apple's `.p8` files or `openssl`'s output.
    ///   - name: its setting's name, for the remedy.
    /// - Returns: the key.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration` for a file that cannot be read,
    ///   is not a key, or is on another curve.
    package static func read(_ path: String, setting name: String) throws -> PushKey {
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw RepriseError(
                .badConfiguration, "The key \(path) cannot be read.",
                remedy: "Check the path and its permissions.")
        }
        defer { try? handle.close() }
        let bytes: Data
        do {
            bytes = try handle.read(upToCount: AccessLimits.keyBytes) ?? Data()
        } catch {
            throw RepriseError(.badConfiguration, "The key \(path) cannot be read.", cause: error)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        if let key = try? P256.Signing.PrivateKey(pemRepresentation: text) { return PushKey(key) }
        // The underlying error is omitted: it might quote the key.
        throw RepriseError(
            .badConfiguration, "\(path) \(wrong(text)).",
            remedy: "Give \(name) a private key on P-256 in PEM: the .p8 file from Apple, or "
                + "openssl ecparam -name prime256v1 -genkey -noout -out key.pem.")
    }

    private static func wrong(_ text: String) -> String {
        if (try? P384.Signing.PrivateKey(pemRepresentation: text)) != nil {
            return "has a key on P-384, another curve"
        }
        if (try? P521.Signing.PrivateKey(pemRepresentation: text)) != nil {
            return "has a key on P-521, another curve"
        }
        if (try? P256.Signing.PublicKey(pemRepresentation: text)) != nil {
            return "has the public half of a key only"
        }
        return text.contains("ENCRYPTED") ? "is encrypted" : "has no key that can be used"
    }

    /// A JSON Web Token, signed with ES256 (RFC 7519).
    package func token(
        header: (inout JSONWriter) -> Void, claims: (inout JSONWriter) -> Void
    ) throws -> String {
        var head = JSONWriter()
        head.object(header)
        var body = JSONWriter()
        body.object(claims)
        let signed = Base64URL.encoded(head.bytes) + "." + Base64URL.encoded(body.bytes)
        let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
        return signed + "." + Base64URL.encoded(signature)
    }
}
