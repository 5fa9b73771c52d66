import Foundation
import JWTKit
import RepriseCore
import RepriseWire

/// The keys that are valid at one moment.
package struct KeySet: Sendable {
    package let keys: [SigningKey]

    package init(_ keys: [SigningKey]) { self.keys = keys }

    /// The key that a token claims to be signed with.
    ///
    /// A key without a name matches tokens with any name. A token that names no key is only
    /// verified if one key has its algorithm: trying all would let a sender of garbage choose the
    /// server's work.
    ///
    /// - Parameter header: the token's header.
    /// - Returns: nil without such a key.
    package func key(for header: TokenHeader) -> SigningKey? {
        let candidates = keys.filter { $0.algorithm == header.algorithm }
        guard let name = header.key else { return candidates.count == 1 ? candidates[0] : nil }
        return candidates.first { $0.name == name } ?? candidates.first { $0.name == nil }
    }

    /// Reads keys in any of a file's formats.
    ///
    /// - Parameters:
    ///   - text: a JSON Web Key Set, a PEM (a public or private key, or a certificate, on P-256),
    ///     or a secret in base64.
    ///   - isPublished: whether the text came from a public place: then secrets in it are not
    ///     accepted.
    /// - Returns: at least one key.
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, without any of the text.
    package static func read(_ text: [UInt8], isPublished: Bool = false) async throws -> KeySet {
        guard text.count <= AccessLimits.keyBytes else {
            throw RepriseError(
                .badConfiguration, "Keys have at most \(AccessLimits.keyBytes) bytes.")
        }
        let trimmed = String(decoding: text, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        if trimmed.hasPrefix("{") { return try await KeySet(jwks: text, isPublished: isPublished) }
        guard !isPublished else {
            throw RepriseError(.badConfiguration, "A JSON Web Key Set is expected.")
        }
        if trimmed.hasPrefix("-----BEGIN") { return KeySet([try await key(pem: trimmed)]) }
        guard let secret = Self.base64(trimmed) else {
            throw RepriseError(
                .badConfiguration,
                "The keys are neither a JSON Web Key Set nor a PEM nor a secret in base64.")
        }
        return KeySet([try await SigningKey(secret: secret)])
    }

    private static func base64(_ text: String) -> [UInt8]? {
        let plain = text.replacing("+", with: "-").replacing("/", with: "_")
            .trimmingCharacters(in: CharacterSet(charactersIn: "="))
        return plain.isEmpty ? nil : Base64URL.decoded(plain.utf8)
    }

    private static func key(pem: String) async throws -> SigningKey {
        if let key = try? ES256PrivateKey(pem: pem) { return try await SigningKey(key) }
        if let key = try? ES256PublicKey(pem: pem) { return try await SigningKey(key) }
        if let key = try? ES256PublicKey(certificate: pem) { return try await SigningKey(key) }
        throw RepriseError(
            .badConfiguration, "The PEM holds no key for ES256.",
            remedy: "It is an EC key on the curve P-256: openssl ecparam -genkey -name prime256v1.")
    }
}

extension KeySet {
    /// Reads a JSON Web Key Set (RFC 7517 §5).
    ///
    /// Ignores keys of other kinds and for other uses, which providers publish beside them.
    init(jwks json: [UInt8], isPublished: Bool) async throws {
        let members = try Self.members(of: json)
        var keys: [SigningKey] = []
        for member in members {
            guard let key = try await Self.key(member, isPublished) else { continue }
            keys.append(key)
        }
        let named = keys.map { ($0.name.map { "=" + $0 } ?? "") + $0.algorithm.rawValue }
        guard Set(named).count == named.count else {
            throw RepriseError(.badConfiguration, "Two keys of the set have the same name (kid).")
        }
        guard !keys.isEmpty else {
            throw RepriseError(
                .badConfiguration, "The key set holds no key for ES256 or HS256.",
                remedy: isPublished ? "Secrets do not count in a set that is published." : nil)
        }
        self.init(keys)
    }

    /// One key of the set, with its text fields only: no others are needed.
    private struct Member {
        var type = ""
        var name: String?
        var use: String?
        var algorithm: String?
        var curve: String?
        var x: String?
        var y: String?
        var d: String?
        var secret: String?
    }

    private static func members(of json: [UInt8]) throws -> [Member] {
        do {
            return try json.withUnsafeBufferPointer { bytes in
                let set = try Envelope(bytes)
                let list = try set.value("keys")
                var members: [Member] = []
                var scanner = set.scanner.at(list)
                try scanner.array { value in
                    guard members.count < AccessLimits.keys else {
                        throw RepriseError(
                            .badConfiguration, "A set has at most \(AccessLimits.keys) keys.")
                    }
                    members.append(try member(Envelope(rebasing(bytes, value))))
                }
                return members
            }
        } catch let error as RepriseError where error.code == .malformed {
            throw RepriseError(
                .badConfiguration, "The JSON Web Key Set cannot be read.", cause: error)
        }
    }

    private static func rebasing(
        _ bytes: UnsafeBufferPointer<UInt8>, _ value: JSONScanner.Value
    ) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[value.range])
    }

    private static func member(_ fields: Envelope) throws -> Member {
        func text(_ name: StaticString) throws -> String? {
            try fields.optional(name).map(fields.scanner.string)
        }
        return Member(
            type: try text("kty") ?? "", name: try text("kid"), use: try text("use"),
            algorithm: try text("alg"), curve: try text("crv"), x: try text("x"), y: try text("y"),
            d: try text("d"), secret: try text("k"))
    }

    private static func key(_ member: Member, _ isPublished: Bool) async throws -> SigningKey? {
        guard member.use ?? "sig" == "sig",
            member.name.map({ $0.utf8.count <= AccessLimits.keyNameBytes }) ?? true
        else { return nil }
        switch (member.type, member.algorithm) {
        case ("oct", nil), ("oct", "HS256"):
            guard !isPublished, let secret = Base64URL.decoded((member.secret ?? "").utf8) else {
                return nil
            }
            return try await SigningKey(secret: secret, name: member.name)
        case ("EC", nil), ("EC", "ES256"):
            guard member.curve == "P-256" else { return nil }
            return try await curveKey(member)
        default: return nil
        }
    }

    private static func curveKey(_ member: Member) async throws -> SigningKey? {
        do {
            if let secret = member.d {
                return try await SigningKey(ES256PrivateKey(key: secret), name: member.name)
            }
            guard let x = member.x, let y = member.y else { return nil }
            return try await SigningKey(
                ES256PublicKey(parameters: (x: x, y: y)), name: member.name)
        } catch {
            throw RepriseError(
                .badConfiguration, "A key of the set is no point of the curve P-256.")
        }
    }
}
