import Foundation
package import RepriseCore
package import RepriseWire

/// A token's claims (RFC 7519 §4), after its signature was verified.
package struct TokenClaims: Hashable, Sendable {
    package var subject: UserID
    package var expires: WallTime
    package var notBefore: WallTime?
    package var issued: WallTime?
    package var audiences: [String]
    package var scopes: Set<String>

    package init(
        subject: UserID, expires: WallTime, notBefore: WallTime? = nil, issued: WallTime? = nil,
        audiences: [String], scopes: Set<String> = []
    ) {
        self.subject = subject
        self.expires = expires
        self.notBefore = notBefore
        self.issued = issued
        self.audiences = audiences
        self.scopes = scopes
    }

    /// Parses the claims.
    ///
    /// - Parameter json: the second part of a token.
    /// - Throws: ``RepriseCore/RepriseError`` `.unauthorized`, naming the invalid claim.
    package init(_ json: [UInt8]) throws {
        do {
            self = try json.withUnsafeBufferPointer { bytes in
                try TokenClaims(Envelope(bytes, fieldLimit: AccessLimits.fields))
            }
        } catch let error as RepriseError where error.code == .malformed {
            throw RepriseError.refusedToken("The token's claims cannot be used. \(error.message)")
        }
    }

    private init(_ fields: Envelope) throws {
        subject = try fields.user("sub")
        expires = try Self.time("exp", fields)
        notBefore = try fields.optional("nbf").map { _ in try Self.time("nbf", fields) }
        issued = try fields.optional("iat").map { _ in try Self.time("iat", fields) }
        audiences = try Self.audiences(fields)
        let scope = try fields.optional("scope").map { _ in try fields.string("scope") } ?? ""
        scopes = Set(scope.split(separator: " ").map(String.init))
    }

    /// Seconds since 1970, possibly with a fraction (RFC 7519 §2).
    private static func time(_ name: StaticString, _ fields: Envelope) throws -> WallTime {
        let value = try fields.value(name)
        let text = String(decoding: fields.scanner.raw(value), as: UTF8.self)
        return try fields.naming(name) {
            guard value.kind == .number, let seconds = Double(text), seconds >= 0, seconds < 1e12
            else { throw fields.scanner.unexpected(value, "a number of seconds since 1970") }
            return WallTime(milliseconds: Int64(seconds * 1_000))
        }
    }

    private static func audiences(_ fields: Envelope) throws -> [String] {
        guard let value = fields.optional("aud") else { return [] }
        guard value.kind == .array else { return [try fields.string("aud")] }
        var names: [String] = []
        try fields.elements("aud") { name in
            guard names.count < AccessLimits.audiences else {
                throw RepriseError.refusedToken(
                    "A token has at most \(AccessLimits.audiences) audiences.")
            }
            names.append(try fields.scanner.string(name))
        }
        return names
    }
}
