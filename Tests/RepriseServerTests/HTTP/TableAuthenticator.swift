import RepriseCore
import RepriseServer
import RepriseWire

/// Knows users by tokens that say who they are: `x.ada.x`.
struct TableAuthenticator: Authenticating {
    /// What happens to every token.
    var failure: RepriseError?
    let leeway = Duration.zero

    static func token(_ user: String) -> String { "x.\(user).x" }

    func principal(of token: AccessToken?) async throws -> Principal {
        if let failure { throw failure }
        guard let token else { throw RepriseError(.unauthorized, "Send a token.") }
        let name = String(token.secret.split(separator: ".")[1])
        if name == "ended" { throw RepriseError(.tokenExpired, "The token has ended.") }
        return Principal(
            user: try UserID(name), isAdmin: name == "root",
            expires: WallTime(milliseconds: 1_900_000_000_000))
    }
}
