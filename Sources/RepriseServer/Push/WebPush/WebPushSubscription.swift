import Crypto
import Foundation
import GRDB
import RepriseCore

/// A browser's push address and keys (RFC 8030, RFC 8291): a secret, which descriptions omit.
package struct WebPushSubscription: Hashable, Sendable, CustomStringConvertible {
    /// An absolute URL of a push service.
    package let endpoint: String
    /// The browser's public key on P-256, uncompressed: `p256dh`.
    package let key: [UInt8]
    /// 16 bytes: `auth`.
    package let secret: [UInt8]
    /// Scheme, host and port of the endpoint: the push service.
    package let origin: String

    /// Parses a subscription from a browser.
    ///
    /// - Parameters:
    ///   - endpoint: an absolute URL; ``EndpointGuard`` decides whether its host is allowed.
    ///   - key: `p256dh`, in base64url.
    ///   - secret: `auth`, in base64url.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` if it is invalid, `.tooLarge` beyond
    ///   ``PushLimits/endpointBytes``.
    package init(endpoint: String, key: String, secret: String) throws {
        guard endpoint.utf8.count <= PushLimits.endpointBytes else {
            throw RepriseError(
                .tooLarge, "An endpoint has at most \(PushLimits.endpointBytes) bytes.")
        }
        guard let key = Self.bytes(key), let secret = Self.bytes(secret), secret.count == 16,
            (try? P256.KeyAgreement.PublicKey(x963Representation: key)) != nil
        else {
            throw RepriseError(
                .malformed, "A subscription has a key on P-256 and a secret of 16 bytes.",
                remedy: "Send p256dh and auth as PushSubscription.toJSON() has them.")
        }
        self.init(unchecked: endpoint, key: key, secret: secret)
    }

    init(unchecked endpoint: String, key: [UInt8], secret: [UInt8]) {
        self.endpoint = endpoint
        self.key = key
        self.secret = secret
        origin = Self.origin(of: endpoint)
    }

    /// The endpoint up to its path.
    ///
    /// User info was refused, so nothing else precedes the path; parsing the URL would cost up to a
    /// tenth of encrypting the message.
    private static func origin(of endpoint: String) -> String {
        let bytes = endpoint.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            let host = bytes.index(colon, offsetBy: 3, limitedBy: bytes.endIndex)
        else { return "" }
        let end = bytes[host...].firstIndex { $0 == 0x2f || $0 == 0x3f || $0 == 0x23 }
        return endpoint[..<(end ?? bytes.endIndex)].lowercased()
    }

    /// Ignores padding, which some browsers have written.
    private static func bytes(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= 128 else { return nil }
        var text = text[...]
        while text.last == "=" { text = text.dropLast() }
        return Base64URL.decoded(text.utf8)
    }

    package var description: String { "(subscription)" }
}

extension WebPushSubscription: CustomDebugStringConvertible, CustomReflectable {
    package var debugDescription: String { description }
    /// Empty, so that `dump` reveals nothing.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension WebPushSubscription {
    /// A stored subscription, already validated.
    init(stored endpoint: String, key: [UInt8], secret: [UInt8]) {
        self.init(unchecked: endpoint, key: key, secret: secret)
    }

    /// Nil if the row has none.
    init?(row: Row) throws {
        guard let endpoint: String = try row.checked("web_endpoint"),
            let key: Data = try row.checked("web_key"),
            let secret: Data = try row.checked("web_secret")
        else { return nil }
        self.init(unchecked: endpoint, key: Array(key), secret: Array(secret))
    }
}
