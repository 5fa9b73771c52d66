import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Asks a server, and writes down what it was asked and what it answered, for
/// Tests/Support/openapi/check.py.
final class ExchangeRecorder {
    /// A request of one operation of the document.
    struct Ask {
        /// As the document names it: `GET /v1/channels/{channel}`.
        var operation: String
        /// The token, or nil for none.
        var token: String?
        /// What stands for `{channel}` and the like.
        var path: [String: String] = [:]
        var query: [(String, String)] = []
        var type: String? = "application/json"
        var body = ""
        var origin: String?
        var headers: [String: String] = [:]
    }

    struct Answer {
        var status: Int
        var text: String
        var headers: HTTPHeaders

        var object: [String: Any]? {
            try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        }
    }

    private(set) var exchanges: [[String: Any]] = []

    @discardableResult
    func ask(_ ask: Ask, port: Int) async throws -> Answer {
        let (method, path) = Self.target(ask)
        let query = ask.query.map { "\($0)=\($1)" }.joined(separator: "&")
        let url = "http://127.0.0.1:\(port)\(path)" + (query.isEmpty ? "" : "?" + query)
        var request = HTTPClientRequest(url: url)
        request.method = HTTPMethod(rawValue: method)
        if let token = ask.token {
            request.headers.add(name: "authorization", value: "Bearer \(token)")
        }
        if let origin = ask.origin { request.headers.add(name: "origin", value: origin) }
        for (name, value) in ask.headers { request.headers.add(name: name, value: value) }
        if !ask.body.isEmpty {
            if let type = ask.type { request.headers.add(name: "content-type", value: type) }
            request.body = .bytes(ByteBuffer(string: ask.body))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(20))
        let body = try await response.body.collect(upTo: 1 << 20)
        let answer = Answer(
            status: Int(response.status.code), text: String(buffer: body), headers: response.headers
        )
        exchanges.append([
            "operation": ask.operation,
            "request": [
                "path": path, "query": ask.query.map { [$0, $1] },
                "headers": Self.fields(request.headers), "body": Self.base64(ask.body),
            ] as [String: Any],
            "response": [
                "status": answer.status, "headers": Self.fields(answer.headers),
                "body": Self.base64(answer.text),
            ] as [String: Any],
        ])
        return answer
    }

    private static func target(_ ask: Ask) -> (method: String, path: String) {
        let parts = ask.operation.split(separator: " ")
        var path = String(parts[1])
        for (name, value) in ask.path { path = path.replacing("{\(name)}", with: value) }
        return (String(parts[0]), path)
    }

    private static func fields(_ headers: HTTPHeaders) -> [String: String] {
        Dictionary(headers.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
    }

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }
}
