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
            throw RepriseError(.unauthorized, "The token's claims cannot be used.", cause: error)
        }
    }

    private init(_ fields: Envelope) throws {
        let scanner = fields.scanner
        subject = try UserID(try scanner.string(try fields.value("sub")))
        expires = try Self.time(try fields.value("exp"), scanner)
        notBefore = try fields.optional("nbf").map { try Self.time($0, scanner) }
        issued = try fields.optional("iat").map { try Self.time($0, scanner) }
        audiences = try Self.audiences(fields)
        let scope = try fields.optional("scope").map(scanner.string) ?? ""
        scopes = Set(scope.split(separator: " ").map(String.init))
    }

    /// Seconds since 1970, possibly with a fraction (RFC 7519 §2).
    private static func time(
        _ value: JSONScanner.Value, _ scanner: JSONScanner
    ) throws -> WallTime {
        let text = String(decoding: scanner.raw(value), as: UTF8.self)
        guard value.kind == .number, let seconds = Double(text), seconds >= 0, seconds < 1e12 else {
            throw RepriseError(.unauthorized, "A time in the token is not one.")
        }
        return WallTime(milliseconds: Int64(seconds * 1_000))
    }

    private static func audiences(_ fields: Envelope) throws -> [String] {
        guard let value = fields.optional("aud") else { return [] }
        var scanner = fields.scanner
        guard value.kind == .array else { return [try scanner.string(value)] }
        var names: [String] = []
        scanner = scanner.at(value)
        try scanner.array { [scanner] name in
            guard names.count < AccessLimits.audiences else {
                throw RepriseError(.unauthorized, "The token has too many audiences.")
            }
            names.append(try scanner.string(name))
        }
        return names
    }
}
