import Foundation
package import RepriseChannels
import RepriseCore
package import RepriseWire

/// The tool's identity for a server.
package struct Caller: Sendable {
    package enum Source: Sendable {
        /// Anonymous: for a server without authentication.
        case nobody
        case token(AccessToken)
        /// A user whom a --dev server gives a token for the asking.
        case development(UserID)
    }

    package let server: String
    package let source: Source
    /// A file of certificates that are trusted besides the system's.
    package var authorities: String?
    /// Whether a development server is asked for an administrator's token.
    package var isAdmin = false

    package init(server: String, source: Source, authorities: String? = nil) {
        self.server = server
        self.source = source
        self.authorities = authorities
    }

    package static func nobody(_ server: String) -> Caller {
        Caller(server: server, source: .nobody)
    }

    /// The user of these messages; nil without a named user.
    ///
    /// - Throws: ``CommandFailure`` if the token does not name its user.
    package func user() throws -> UserID? {
        switch source {
        case .nobody: nil
        case .development(let user): user
        case .token(let token): try TokenSubject.read(token)
        }
    }

    /// A token for the next connection, fresh where the server issues them.
    ///
    /// - Returns: nil for a server without authentication; one with it refuses, in its own words.
    /// - Throws: ``RepriseError``.
    package func token() async throws -> AccessToken? {
        switch source {
        case .nobody: nil
        case .token(let token): token
        case .development(let user):
            try await DevToken.fetch(
                server: server, user: user, isAdmin: isAdmin, authorities: authorities)
        }
    }

    /// The identity for the client, which asks again whenever a token is about to expire.
    ///
    /// - Returns: nil without a named user.
    /// - Throws: ``CommandFailure`` if the token does not name its user.
    package func identity() throws -> Identity? {
        guard let user = try user() else { return nil }
        return Identity(user: user) { request in
            if case .token = source, request.reason != .first { throw Self.ended }
            return try await token() ?? Self.nothing
        }
    }

    /// A placeholder token for a server that issues none.
    ///
    /// A server without authentication ignores it, and any other refuses it.
    private static var nothing: AccessToken {
        get throws { try AccessToken("none.none.") }
    }

    private static let ended = RepriseError(
        .unauthorized, "The token has ended, or is not one of this server.",
        remedy: "Start again with a fresh --token.")
}

/// The user named in a token; the server verifies it.
private enum TokenSubject {
    static func read(_ token: AccessToken) throws -> UserID {
        let claims = String(token.secret.split(separator: ".")[1])
            .replacing("-", with: "+").replacing("_", with: "/")
        let padded = claims + String(repeating: "=", count: (4 - claims.count % 4) % 4)
        guard let json = Data(base64Encoded: padded), let members = try? HTTPMembers(Array(json)),
            let subject = members.text("sub"), let user = try? UserID(subject)
        else {
            throw CommandFailure(.badInput, "The token does not say whose it is: no sub in it.")
        }
        return user
    }
}
