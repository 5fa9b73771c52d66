import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import RepriseCore
import RepriseNIO
import RepriseWire

/// The server's HTTP API (`docs/openapi.json`), as the commands use it.
struct ServerAPI: Sendable {
    /// The largest page: 1,000 messages of 64 KiB.
    private static let answerBytes = 80 << 20

    let server: String
    let caller: Caller

    /// Asks, and takes an answer of one object.
    ///
    /// - Parameters:
    ///   - method: GET, PUT, POST or DELETE.
    ///   - path: its parts, as they are; they are encoded here.
    ///   - query: parameters; those without a value are left out.
    ///   - body: JSON.
    /// - Returns: nil where the server answers without a body.
    /// - Throws: ``RepriseError``; ``CommandFailure``.
    func send(
        _ method: String, _ path: [String], query: [String: String?] = [:], body: [UInt8]? = nil
    ) async throws -> JSONMembers? {
        let (status, bytes) = try await exchange(
            method, path, query: query, body: body, token: caller.token())
        guard (200..<300).contains(status) else { throw Self.failure(status, bytes) }
        guard !bytes.isEmpty else { return nil }
        guard let answer = try? JSONMembers(bytes) else { throw notReprise }
        return answer
    }

    private func exchange(
        _ method: String, _ path: [String], query: [String: String?], body: [UInt8]?,
        token: AccessToken?
    ) async throws -> (status: Int, body: [UInt8]) {
        var request = HTTPClientRequest(url: try url(path, query))
        request.method = HTTPMethod(rawValue: method)
        request.headers.add(name: "Accept", value: "application/json")
        request.headers.add(name: "User-Agent", value: ToolVersion.client)
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token.secret)") }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: body))
        }
        do {
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
            let body = try await response.body.collect(upTo: Self.answerBytes)
            return (Int(response.status.code), Array(body.readableBytesView))
        } catch let error as CancellationError {
            throw error
        } catch let error as NIOTooManyBytesError {
            throw RepriseError(
                .notReprise, "What answers at \(server) answers with more than a Reprise server.",
                remedy: "Check host and port.", cause: error)
        } catch {
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

    private var notReprise: RepriseError {
        RepriseError(
            .notReprise, "What answers at \(server) does not answer as a Reprise server does.",
            remedy: "Check host and port.")
    }

    /// What the server says went wrong, in its own words.
    private static func failure(_ status: Int, _ body: [UInt8]) -> any Error {
        let error = (try? JSONMembers(body))?.raw("error").flatMap { try? JSONMembers($0) }
        guard let words = error?.text("message") else {
            return RepriseError(
                .notReprise, "What answers there is not a Reprise server (HTTP status \(status)).",
                remedy: "Check host and port.")
        }
        switch status {
        case 400, 404, 405, 409, 413, 415: return CommandFailure(.badInput, words.firstLine)
        case 401:
            return RepriseError(
                .unauthorized, words, remedy: "Give --token, or --as with a --dev server.")
        case 403: return RepriseError(.forbidden, words)
        default: return RepriseError(.unavailable, words, remedy: "Try again later.")
        }
    }
}
