import RepriseCore

/// A JSON Web Token (RFC 7519) in its compact form: a secret, absent from every log and
/// description.
public struct AccessToken: Hashable, Sendable, CustomStringConvertible {
    /// The token itself.
    public let secret: String

    /// Takes a token.
    ///
    /// - Parameter secret: three parts of base64url with dots between them, at most
    ///   ``WireLimits/tokenBytes``.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    public init(_ secret: String) throws {
        guard Self.isValid(secret.utf8) else {
            throw RepriseError(
                .malformed,
                "A token has three parts of base64url with dots between them, and at most "
                    + "\(WireLimits.tokenBytes) bytes.")
        }
        self.secret = secret
    }

    private static func isValid(_ bytes: String.UTF8View) -> Bool {
        guard bytes.count <= WireLimits.tokenBytes else { return false }
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 3 && !parts[0].isEmpty && !parts[1].isEmpty
            && parts.allSatisfy { $0.allSatisfy(isBase64URL) }
    }

    private static func isBase64URL(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// A placeholder that hides the secret.
    public var description: String { "(a token)" }
}

extension AccessToken: CustomDebugStringConvertible, CustomReflectable {
    /// A placeholder that hides the secret.
    public var debugDescription: String { description }

    /// Empty: `dump` shows no secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
