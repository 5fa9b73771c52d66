import Foundation
import RepriseChannels
import RepriseCore
import RepriseWire

/// Who the tool is to a server.
struct Caller: Sendable {
    enum Source: Sendable {
        /// Nobody in particular: for a server that does not ask.
        case nobody
        case token(AccessToken)
        /// A user whom a --dev server gives a token for the asking.
        case development(UserID)
    }

    let server: String
    let source: Source
    /// Whose certificates are believed beside those that the system trusts: a file.
    var authorities: String?
    /// Whether a server for development is asked for a token that may manage.
    var isAdmin = false

    static func nobody(_ server: String) -> Caller { Caller(server: server, source: .nobody) }

    /// Whose messages these are; nil where nobody was named.
    ///
    /// - Throws: ``CommandFailure`` if the token does not say.
    func user() throws -> UserID? {
        switch source {
        case .nobody: nil
        case .development(let user): user
        case .token(let token): try TokenSubject.read(token)
        }
    }

    /// A token for the next connection, fresh where the server gives them.
    ///
    /// - Returns: nil for a server that does not ask; then one that does refuses, with its own
    ///   words.
    /// - Throws: ``RepriseError``.
    func token() async throws -> AccessToken? {
        switch source {
        case .nobody: nil
        case .token(let token): token
        case .development(let user):
            try await DevToken.fetch(
                server: server, user: user, isAdmin: isAdmin, authorities: authorities)
        }
    }

    /// The same for the client, which asks again whenever a token nears its end.
    ///
    /// - Returns: nil where nobody was named.
    /// - Throws: ``CommandFailure`` if the token does not say whose it is.
    func identity() throws -> Identity? {
        guard let user = try user() else { return nil }
        return Identity(user: user) { request in
            if case .token = source, request.reason != .first { throw Self.ended }
            return try await token() ?? Self.nothing
        }
    }

    /// What a client that has to show something shows a server that gives none.
    ///
    /// One that asks nobody does not look at it, and any other refuses it.
    private static var nothing: AccessToken {
        get throws { try AccessToken("none.none.") }
    }

    private static let ended = RepriseError(
        .unauthorized, "The token has ended, or is not one of this server.",
        remedy: "Start again with a fresh --token.")
}

/// Whose a token is, as it says itself; the server looks closer.
private enum TokenSubject {
    static func read(_ token: AccessToken) throws -> UserID {
        let claims = String(token.secret.split(separator: ".")[1])
            .replacing("-", with: "+").replacing("_", with: "/")
        let padded = claims + String(repeating: "=", count: (4 - claims.count % 4) % 4)
        guard let json = Data(base64Encoded: padded), let members = try? JSONMembers(Array(json)),
            let subject = members.text("sub"), let user = try? UserID(subject)
        else {
            throw CommandFailure(.badInput, "The token does not say whose it is: no sub in it.")
        }
        return user
    }
}
