import Foundation
import RepriseCore
import RepriseNIO
import RepriseServer
package import RepriseWire

/// A token from a server in `--dev` mode, so that the tool's other commands work without
/// configuration.
///
/// Such a server answers at ``/v1/dev/token``; any other answers 404. So one request both detects
/// the mode and gets the token.
package enum DevToken {
    /// Fetches a token.
    ///
    /// - Parameters:
    ///   - server: the address, as in `--server`.
    ///   - user: the token's user.
    ///   - isAdmin: whether it grants administration.
    ///   - seconds: its lifetime.
    ///   - authorities: certificates trusted besides the system's.
    /// - Returns: nil for a server without development mode. A server on another machine gets no
    ///   request.
    /// - Throws: ``RepriseError`` `.unreachable`, `.refused`, `.notReprise`.
    package static func fetch(
        server: String, user: UserID, isAdmin: Bool = false, seconds: Int = 3_600,
        authorities: String? = nil
    ) async throws -> AccessToken? {
        let endpoint = try Endpoint(server)
        guard LoopbackName.isOne(endpoint.host) else { return nil }
        var query = URLComponents()
        query.queryItems =
            [URLQueryItem(name: "user", value: user.text)]
            + [URLQueryItem(name: "seconds", value: "\(seconds)")]
            + (isAdmin ? [URLQueryItem(name: "scope", value: "admin")] : [])
        // A plus in a query means a space to some.
        let text = (query.percentEncodedQuery ?? "").replacing("+", with: "%2B")
        let url = "\(endpoint)\(DevelopmentTokenRoute.path)?\(text)"
        let answer: HTTPAnswer
        do {
            // A local server answers at once.
            answer = try await NIOTransport(authorities: authorities)
                .fetch(HTTPCall(url: url), limit: 65_536, timeout: .seconds(10))
        } catch let error as RepriseError
            where error.code == .unreachable || error.code == .malformed
        {
            throw RepriseError(
                .unreachable, "No server answers at \(endpoint).",
                remedy: "Start one with `reprise serve`.", cause: error)
        } catch let error as RepriseError where error.code == .tooLarge {
            throw notReprise(endpoint)
        }
        return try token(in: answer, of: endpoint)
    }

    private static func token(in answer: HTTPAnswer, of endpoint: Endpoint) throws -> AccessToken? {
        switch answer.status {
        case 200: break
        case 404: return nil
        default:
            let words = answer.errorWords
            throw RepriseError(
                .refused,
                "\(endpoint) gives no token (\(answer.status))" + (words.map { ": \($0)" } ?? "."),
                remedy: words == nil ? "Look at the server's log." : nil)
        }
        let content = try? JSONDecoder().decode(Answer.self, from: Data(answer.body))
        guard let content, let token = try? AccessToken(content.token) else {
            throw notReprise(endpoint)
        }
        return token
    }

    private static func notReprise(_ endpoint: Endpoint) -> RepriseError {
        RepriseError(
            .notReprise, "What answers at \(endpoint) is not a Reprise server.",
            remedy: "Check host and port.")
    }

    private struct Answer: Decodable {
        let token: String
    }
}
