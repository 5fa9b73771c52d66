import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RepriseCore
import RepriseNIO
import RepriseServer
import RepriseWire

/// A token from a server that was started with `--dev`: what lets the tool's other commands work against it without a word.
///
/// Such a server answers at ``/v1/dev/token``; any other answers 404. So one request says both whether there is one, and what it is.
enum DevToken {
    /// Asks for a token.
    ///
    /// - Parameters:
    ///   - server: where it is, as `--server` has it.
    ///   - user: for whom.
    ///   - isAdmin: whether it is to manage everything.
    ///   - seconds: after which it ends.
    /// - Returns: nil where the server is not for development. One that is not on this machine is not even asked.
    /// - Throws: ``RepriseError`` `.unreachable`, `.refused`, `.notReprise`, `.malformed`.
    static func fetch(
        server: String, user: UserID, isAdmin: Bool = false, seconds: Int = 3_600
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
        return try await ask(url, endpoint)
    }

    private static func ask(_ url: String, _ endpoint: Endpoint) async throws -> AccessToken? {
        do {
            return try await read(url, endpoint)
        } catch let error as RepriseError {
            throw error
        } catch {
            throw RepriseError(
                .unreachable, "No server answers at \(endpoint).",
                remedy: "Start one with `reprise serve`.", cause: error)
        }
    }

    private static func read(_ url: String, _ endpoint: Endpoint) async throws -> AccessToken? {
        let response = try await HTTPClient.shared.execute(
            HTTPClientRequest(url: url), timeout: .seconds(10))
        switch response.status {
        case .ok: break
        case .notFound: return nil
        default:
            throw RepriseError(
                .refused, "\(endpoint) gives no token (\(response.status.code)).",
                remedy: "Look at the server's log.")
        }
        let body = try await response.body.collect(upTo: 65_536)
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(body.readableBytesView))
        guard let token = try answer.map({ try AccessToken($0.token) }) else {
            throw RepriseError(
                .notReprise, "What answers at \(endpoint) is not a Reprise server.",
                remedy: "Check host and port.")
        }
        return token
    }

    private struct Answer: Decodable {
        let token: String
    }
}
