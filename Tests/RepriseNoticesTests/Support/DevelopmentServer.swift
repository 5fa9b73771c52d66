import Foundation
import Reprise
import RepriseCore
import RepriseNIO
import RepriseNotices
import RepriseTesting
import RepriseWire

/// A real server of its own process, for whom everybody is who they say.
final class DevelopmentServer: Sendable {
    let url: String
    private let process: ChildProcess

    /// Starts it, on any port for 0.
    init(in folder: URL, port: Int = 0) throws {
        process = try ChildProcess(
            .sibling("reprise"),
            ["serve", "--dev", "--port", "\(port)", "--data", folder.path, "--json"])
        struct Ready: Decodable { var url: String }
        let line = process.readLine() ?? ""
        url = try JSONDecoder().decode(Ready.self, from: Data(line.utf8)).url
    }

    var port: Int { Int(url.split(separator: ":").last ?? "") ?? 0 }
    func kill() { _ = process.kill() }

    func identity(_ user: String) throws -> Identity {
        Identity(user: try UserID(user)) { [url] request in
            struct Answer: Decodable { var token: String }
            let answer = try await NIOTransport().fetch(
                HTTPCall(url: "\(url)/v1/dev/token?user=\(request.user.text)"), limit: 65_536)
            return try AccessToken(
                try JSONDecoder().decode(Answer.self, from: Data(answer.body)).token)
        }
    }

    func device(_ user: String, in folder: TemporaryFolder) async throws -> AccountClient {
        var configuration = AccountClient.Configuration()
        configuration.notices = Notices.Configuration()
        configuration.notices?.transport = NIOTransport()
        return try await AccountClient.open(
            at: folder.url, server: url, dialer: NIODialer(), identity: try identity(user),
            configuration: configuration)
    }

    /// What the server has, as this user sees it.
    func ask(_ path: String, as user: String) async throws -> String {
        let token = try await identity(user).tokens(
            TokenRequest(user: try UserID(user), reason: .first))
        let answer = try await NIOTransport().fetch(
            HTTPCall(
                url: url + path, headers: ["authorization": "Bearer " + token.secret]),
            limit: 65_536)
        return String(decoding: answer.body, as: UTF8.self)
    }

    /// Asks it to do something.
    @discardableResult
    func tell(_ method: String, _ path: String, _ json: String, as user: String) async throws
        -> String
    {
        let token = try await identity(user).tokens(
            TokenRequest(user: try UserID(user), reason: .first))
        let call = HTTPCall(
            method: method, url: url + path,
            headers: [
                "authorization": "Bearer " + token.secret, "content-type": "application/json",
            ], body: .bytes(Array(json.utf8)), timeout: .seconds(10))
        let answer = try await NIOTransport().fetch(call, limit: 1_048_576)
        guard answer.status < 300 else {
            throw RepriseError(.refused, "\(method) \(path): \(answer.status)")
        }
        return String(decoding: answer.body, as: UTF8.self)
    }
}
