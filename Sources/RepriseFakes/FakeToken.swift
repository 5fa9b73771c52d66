import Crypto
import Foundation

/// Reads tokens signed with ES256, for the stand-ins; independent of the server's signing code.
struct FakeToken {
    let header: [String: Any]
    let claims: [String: Any]
    private let signed: String
    private let signature: Data

    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = Self.object(parts[0]),
            let claims = Self.object(parts[1]), let signature = Self.bytes(parts[2])
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = parts[0] + "." + parts[1]
    }

    func isSigned(by key: P256.Signing.PublicKey) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else {
            return false
        }
        return key.isValidSignature(signature, for: Data(signed.utf8))
    }

    /// A claim that is a whole number; nil for a fraction.
    func whole(_ claim: String) -> Int64? {
        guard let number = claims[claim] as? NSNumber, !(claims[claim] is Bool),
            Double(number.int64Value) == number.doubleValue
        else { return nil }
        return number.int64Value
    }

    static func bytes(_ text: String) -> Data? {
        let standard = text.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        return Data(
            base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4))
    }

    static func text(_ bytes: some DataProtocol) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    private static func object(_ text: String) -> [String: Any]? {
        bytes(text).flatMap {
            (try? JSONSerialization.jsonObject(with: $0)) as? [String: Any]
        }
    }
}
