import Foundation
import Synchronization

/// The whole answer to a request.
public struct HTTPAnswer: Hashable, Sendable {
    /// The default timeout of ``HTTPTransport/fetch(_:limit:timeout:)``.
    public static let timeout = Duration.seconds(15)
    /// The most redirects that it follows.
    package static let redirects = 5

    /// As in RFC 9110 §15.
    public var status: Int
    /// By their names in lower case.
    public var headers: [String: String]
    /// The content.
    public var body: [UInt8]

    /// Makes an answer, as a platform or a test does.
    public init(status: Int, headers: [String: String], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension HTTPTransport {
    /// Fetches a whole answer, and lets a `GET` follow redirects to the same server, at most 5.
    ///
    /// ```swift
    /// let answer = try await transport.fetch(HTTPCall(url: url), limit: 1_048_576)
    /// ```
    ///
    /// A redirect to another host, port or scheme is not followed but returned: credentials for one
    /// server are not sent to another.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - limit: a larger answer is an error, before more of it is kept.
    ///   - timeout: the timeout of the answer, from connecting to its last byte, redirects
    ///     included; nil: only the request's own.
    /// - Returns: the answer, whatever its status.
    /// - Throws: as ``exchange(_:head:chunk:)``, and ``RepriseError`` `.tooLarge`.
    public func fetch(
        _ request: HTTPCall, limit: Int, timeout: Duration? = HTTPAnswer.timeout
    ) async throws -> HTTPAnswer {
        guard let timeout else { return try await followed(request, limit) }
        var request = request
        request.timeout = min(request.timeout, timeout)
        return try await withTimeout(timeout, for: "The answer of the server") { [request] in
            try await followed(request, limit)
        }
    }

    private func followed(_ request: HTTPCall, _ limit: Int) async throws -> HTTPAnswer {
        var request = request
        for _ in 0..<HTTPAnswer.redirects {
            let answer = try await whole(request, limit)
            guard request.method == "GET", let next = answer.redirect(from: request.url) else {
                return answer
            }
            request.url = next
        }
        return try await whole(request, limit)
    }

    private func whole(_ request: HTTPCall, _ limit: Int) async throws -> HTTPAnswer {
        let answer = Mutex(HTTPAnswer(status: 0, headers: [:], body: []))
        let tooLarge = RepriseError(.tooLarge, "The answer has more than \(limit) bytes.")
        try await exchange(request) { head in
            if let length = head.headers["content-length"].flatMap({ Int64($0) }), length > limit,
                request.method != "HEAD"
            {
                throw tooLarge
            }
            answer.withLock { ($0.status, $0.headers) = (head.status, head.headers) }
        } chunk: { bytes in
            try answer.withLock { answer in
                guard answer.body.count + bytes.count <= limit else { throw tooLarge }
                answer.body += bytes
            }
        }
        return answer.withLock { $0 }
    }
}

extension HTTPAnswer {
    /// The target of a redirect, if it is on the same server.
    fileprivate func redirect(from url: String) -> String? {
        guard [301, 302, 303, 307, 308].contains(status), let place = headers["location"],
            let here = URL(string: url), let there = URL(string: place, relativeTo: here),
            there.scheme?.lowercased() == here.scheme?.lowercased(),
            there.host()?.lowercased() == here.host()?.lowercased(),
            there.webPort == here.webPort
        else { return nil }
        return there.absoluteString
    }
}

extension URL {
    fileprivate var webPort: Int { port ?? (scheme?.lowercased() == "https" ? 443 : 80) }
}
