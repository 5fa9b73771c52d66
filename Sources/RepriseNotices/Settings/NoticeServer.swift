import Foundation
package import RepriseCore
package import RepriseWire

/// The server's settings API, over HTTP, because settings are also sent without an open socket.
package struct NoticeServer: Sendable {
    /// Its address: `https://host:port`.
    package var url: String
    /// How.
    package var transport: any HTTPTransport
    /// This device's id for the server.
    package var device: @Sendable () async throws -> EntryID
    /// Returns a token, and a new one if the server has refused the last; nil: the server needs
    /// none.
    package var token: (@Sendable (_ isRefused: Bool) async throws -> AccessToken)?

    package init(
        url: String, transport: any HTTPTransport,
        device: @escaping @Sendable () async throws -> EntryID,
        token: (@Sendable (_ isRefused: Bool) async throws -> AccessToken)? = nil
    ) {
        self.url = url
        self.transport = transport
        self.device = device
        self.token = token
    }

    /// The server's answer.
    package enum Answer: Hashable, Sendable {
        /// Done, with this content.
        case done([UInt8])
        /// It will never do it.
        case refused(status: Int, words: String)
    }

    /// Sends a request, with a fresh token if the first is refused.
    ///
    /// `condition` is its `If-Match`.
    ///
    /// - Throws: ``Unreached`` for any failure that may be temporary.
    package func ask(
        _ method: String, _ path: String, _ body: [UInt8]? = nil, ifMatch condition: String? = nil
    ) async throws -> Answer {
        do {
            let first = try await exchange(method, path, body, condition, isRefused: false)
            guard first.status == 401, token != nil else { return try judge(first) }
            let second = try await exchange(method, path, body, condition, isRefused: true)
            guard second.status != 401 else {
                throw Unreached("The server does not take the token.", code: .unauthorized)
            }
            return try judge(second)
        } catch let error as Unreached {
            throw error
        } catch let error as CancellationError {
            throw error
        } catch {
            let error = error as? RepriseError
            throw Unreached(
                error?.message ?? "The server could not be asked.",
                code: error?.code ?? .unreachable)
        }
    }

    private func exchange(
        _ method: String, _ path: String, _ body: [UInt8]?, _ condition: String?, isRefused: Bool
    ) async throws -> HTTPAnswer {
        var headers = ["accept": "application/json"]
        if let token { headers["authorization"] = "Bearer " + (try await token(isRefused)).secret }
        if body != nil { headers["content-type"] = "application/json" }
        headers["if-match"] = condition
        let call = HTTPCall(
            method: method, url: url + path, headers: headers,
            body: body.map { .bytes($0) } ?? .none, timeout: NoticeLimits.serverTimeout)
        return try await transport.fetch(call, limit: NoticeLimits.answerBytes, timeout: nil)
    }

    private func judge(_ answer: HTTPAnswer) throws -> Answer {
        let (status, body) = (answer.status, answer.body)
        switch status {
        case 204: return .done([])
        case 200..<300:
            // Something else between here and the server answers too: a hotel's page is no word of
            // it.
            guard (try? JSONMembers.read(body) { _ in () }) != nil else {
                throw Unreached("Something else answers in the server's place.", code: .notReprise)
            }
            return .done(body)
        case 400..<500 where ![408, 425, 429].contains(status):
            return .refused(status: status, words: Self.words(body) ?? "HTTP status \(status).")
        default:
            let wait = answer.headers["retry-after"].flatMap { Int64($0) }
            throw Unreached(
                "The server answers with the HTTP status \(status).", code: .unavailable,
                wait: wait.map { min(.seconds(max($0, 0)), NoticeLimits.longestRetryAfter) })
        }
    }

    /// The server's message for people: at most one line of a foreign text.
    private static func words(_ body: [UInt8]) -> String? {
        struct Body: Decodable {
            struct Failure: Decodable { var message: String }
            var error: Failure
        }
        let failure = try? JSONDecoder().decode(Body.self, from: Data(body.prefix(4_096)))
        return failure.map { String($0.error.message.prefix(256)).printable }
    }
}

/// The server was unreachable or failed: try again.
package struct Unreached: Error, Hashable, Sendable {
    package var words: String
    package var code: RepriseError.Code
    /// The wait that the server asks for.
    package var wait: Duration?

    package init(_ words: String, code: RepriseError.Code, wait: Duration? = nil) {
        self.words = words
        self.code = code
        self.wait = wait
    }
}
