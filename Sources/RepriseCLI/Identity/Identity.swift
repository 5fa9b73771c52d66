import RepriseCore
import RepriseWire

/// Who the tool is to a server.
struct Identity: Sendable {
    enum Source: Sendable {
        /// Nobody in particular: for a server that does not ask.
        case nobody
        case token(AccessToken)
        /// A user whom a --dev server gives a token for the asking.
        case development(UserID)
    }

    let server: String
    let source: Source

    static func nobody(_ server: String) -> Identity { Identity(server: server, source: .nobody) }

    var user: UserID? {
        if case .development(let user) = source { user } else { nil }
    }

    /// A token for the next connection, fresh where the server gives them.
    ///
    /// - Returns: nil for a server that does not ask; then one that does refuses, with its own words.
    /// - Throws: ``RepriseError``; ``CommandFailure``.
    func token() async throws -> AccessToken? {
        switch source {
        case .nobody: nil
        case .token(let token): token
        case .development(let user): try await DevToken.fetch(server: server, user: user)
        }
    }
}
