import Foundation
package import RepriseCore
import RepriseNIO
import RepriseWire

/// The server's HTTP API (`docs/openapi.json`), as the commands use it.
package struct ServerAPI: Sendable {
    /// Far more than any answer of a server.
    package static let answerBytes = 80 << 20

    package let server: String
    package let caller: Caller

    package init(server: String, caller: Caller) {
        self.server = server
        self.caller = caller
    }

    /// Sends a request, and accepts a response of one object.
    ///
    /// - Parameters:
    ///   - method: GET, PUT, POST or DELETE.
    ///   - path: its segments, not yet encoded.
    ///   - query: parameters; those without a value are left out.
    ///   - body: JSON.
    /// - Returns: nil where the server answers without a body.
    /// - Throws: ``RepriseError``; ``CommandFailure``.
    package func send(
        _ method: String, _ path: [String], query: [String: String?] = [:], body: [UInt8]? = nil
    ) async throws -> HTTPMembers? {
        let answer = try await exchange(method, path, query: query, body: body)
        guard (200..<300).contains(answer.status) else {
            throw failure(answer)
        }
        guard !answer.body.isEmpty else { return nil }
        return try members(answer.body)
    }

    /// The members of an object in an answer: of all of it, or of an element of a list.
    ///
    /// - Throws: ``RepriseError`` `.notReprise` if it is none.
    package func members(_ json: [UInt8]) throws -> HTTPMembers {
        do { return try HTTPMembers(json) } catch { throw notReprise }
    }

    /// Sends a request, and accepts any response.
    ///
    /// - Throws: ``RepriseError`` without a response.
    package func exchange(
        _ method: String, _ path: [String], query: [String: String?] = [:],
        headers: [String: String] = [:], body: [UInt8]? = nil
    ) async throws -> HTTPAnswer {
        var headers = headers
        headers["accept"] = "application/json"
        headers["user-agent"] = ToolVersion.client
        if let token = try await caller.token() {
            headers["authorization"] = "Bearer \(token.secret)"
        }
        if body != nil { headers["content-type"] = "application/json" }
        do {
            let call = HTTPCall(
                method: method, url: try url(path, query), headers: headers,
                body: body.map { .bytes($0) } ?? .none)
            return try await NIOTransport(authorities: caller.authorities)
                .fetch(call, limit: Self.answerBytes, timeout: .seconds(30))
        } catch let error as RepriseError where error.code == .tooLarge {
            throw RepriseError(
                .notReprise, "What answers at \(server) answers with more than a Reprise server.",
                remedy: "Check host and port.", cause: error)
        } catch let error as RepriseError
            where error.code == .unreachable || error.code == .malformed
        {
            throw RepriseError(
                .unreachable, "The server at \(server) cannot be reached.",
                remedy: "Check that it runs there; `reprise serve` starts one.", cause: error)
        }
    }

    private func url(_ path: [String], _ query: [String: String?]) throws -> String {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        func encoded(_ text: String) throws -> String {
            guard let text = text.addingPercentEncoding(withAllowedCharacters: allowed) else {
                throw RepriseError(.malformed, "This cannot stand in a URL.")
            }
            return text
        }
        let place = try path.map(encoded).joined(separator: "/")
        let parameters = try query.compactMap { key, value in
            try value.map { try "\(key)=" + encoded($0) }
        }
        return "\(server)/\(place)" + (parameters.isEmpty ? "" : "?")
            + parameters.sorted().joined(separator: "&")
    }

    /// The answer is none of a Reprise server.
    package var notReprise: RepriseError {
        RepriseError(
            .notReprise, "What answers at \(server) does not answer as a Reprise server does.",
            remedy: "Check host and port.")
    }

    /// The server's error, in its own words.
    package func failure(_ answer: HTTPAnswer) -> any Error {
        let status = answer.status
        guard let words = answer.errorWords else {
            return RepriseError(
                .notReprise, "What answers there is not a Reprise server (HTTP status \(status)).",
                remedy: "Check host and port.")
        }
        switch status {
        case 400, 404, 405, 409, 412, 413, 415, 422:
            return CommandFailure(.badInput, words.firstLine)
        case 401:
            return RepriseError(
                .unauthorized, words, remedy: "Give --token, or --as with a --dev server.")
        case 403:
            // Others are of a server that knows no users.
            let isOfChannel = words.contains("channel")
            return RepriseError(
                .forbidden, words,
                remedy: isOfChannel ? "Check --as or --token, and the channel's name." : nil)
        default: return RepriseError(.unavailable, words, remedy: words.retryRemedy)
        }
    }
}

extension HTTPAnswer {
    /// What the server says of an error; nil if no Reprise server has sent it.
    var errorWords: String? {
        (try? HTTPMembers(body))?.raw("error").flatMap { try? HTTPMembers($0) }?.text("message")
    }
}
