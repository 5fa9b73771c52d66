package import HTTPTypes
package import Hummingbird
package import RepriseCore
import RepriseWire

/// A refusal over HTTP: a status and `{"error":{"code","message"}}`.
package struct HTTPFailure: Error, Sendable, HTTPResponseError {
    package let status: HTTPResponse.Status
    /// For programs; named as in ``RepriseWire/RefusalCode`` where the wire has the case too.
    package let code: String
    /// For people.
    package let message: String
    /// Additional headers.
    package var headers: HTTPFields = [:]

    package init(
        _ status: HTTPResponse.Status, _ code: String, _ message: String, headers: HTTPFields = [:]
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers
    }

    /// Translates a `RepriseError`; `hasToken`: whether the request had one.
    package init(_ error: RepriseError, hasToken: Bool = true) {
        // A refusal by the accounts must not be distinguishable from a missing resource.
        let error = error.code == .refused ? .notForThisUser : error
        let (status, code) =
            AccountBound.code(of: error).map { (HTTPResponse.Status.conflict, $0) }
            ?? Self.meaning(of: error.code)
        var headers = Self.retry(status)
        if status == .unauthorized {
            headers[.wwwAuthenticate] = Self.challenge(hasToken ? error.code : nil)
        }
        self.init(status, code, error.messageAndRemedy, headers: headers)
    }

    static func unsupportedMediaType(_ message: String) -> HTTPFailure {
        HTTPFailure(.unsupportedMediaType, "unsupportedMediaType", message)
    }

    /// The caller exceeds a rate limit.
    static func rateLimited(_ wait: Duration) -> HTTPFailure {
        let seconds = max(1, wait.components.seconds + (wait.components.attoseconds > 0 ? 1 : 0))
        return HTTPFailure(
            .tooManyRequests, RefusalCode.rateLimited.name, "Too many requests; wait \(seconds) s.",
            headers: [.retryAfter: "\(seconds)"])
    }

    /// The authentication challenge (RFC 6750 §3), without an error where there was no token.
    private static func challenge(_ code: RepriseError.Code?) -> String {
        let realm = #"Bearer realm="reprise""#
        guard let code else { return realm }
        let ended = code == .tokenExpired ? #", error_description="The token has ended.""# : ""
        return realm + #", error="invalid_token""# + ended
    }

    /// The reason why a message is not stored, or a conversation not made.
    init(_ code: RefusalCode, _ message: String) {
        let status: HTTPResponse.Status =
            switch code {
            case .tooLarge: .contentTooLarge
            case .conflict, .predecessorMissing, .channelFull, .tooManyChannels: .conflict
            case .forbidden: .forbidden
            case .noSuchMessage: .notFound
            case .rateLimited: .tooManyRequests
            case .unavailable, .overloaded: .serviceUnavailable
            default: .badRequest
            }
        self.init(status, code.name, message, headers: Self.retry(status))
    }

    /// The refusal as a response.
    package func response(
        from request: Request, context: some RequestContext
    ) throws -> Response { response }

    /// The refusal as a response.
    var response: Response { Response(json: json, status: status, headers: headers) }

    /// `{"error":{"code","message"}}`.
    var json: [UInt8] { ErrorAnswer(error: self).json }

    private static func meaning(
        of code: RepriseError.Code
    ) -> (HTTPResponse.Status, String) {
        switch code {
        case .tooLarge: (.contentTooLarge, code.name)
        case .malformed, .badChannelName, .badID: (.badRequest, code.name)
        case .timedOut: (.requestTimeout, code.name)
        case .unauthorized, .tokenExpired: (.unauthorized, code.name)
        case .forbidden: (.forbidden, code.name)
        case .full: (.serviceUnavailable, RefusalCode.overloaded.name)
        case .closed, .unavailable, .diskFull, .diskFailed, .busy, .notWritable:
            (.serviceUnavailable, RefusalCode.unavailable.name)
        default: (.internalServerError, RepriseError.Code.internal.name)
        }
    }

    private static func retry(_ status: HTTPResponse.Status) -> HTTPFields {
        status == .serviceUnavailable || status == .tooManyRequests ? [.retryAfter: "1"] : [:]
    }
}

extension HTTPFailure: Encodable {
    private enum CodingKeys: String, CodingKey { case code, message }
}

/// `{"error":{"code","message"}}`; with the line and id of a message that was refused in a stream.
struct ErrorAnswer: Encodable {
    let error: HTTPFailure
    var line: Int?
    var id: String?

    var json: [UInt8] {
        do {
            return try Response.json(self)
        } catch {
            preconditionFailure("Text cannot be encoded: \(error)")
        }
    }
}

extension RepriseError {
    /// Not for this user, or missing: one text, so that it does not reveal which.
    static let notForThisUser = RepriseError(
        .forbidden, "Not for this user, or there is no such channel.")

    /// The peer sends less than the minimum rate of a body.
    static let bodyTooSlow = RepriseError(
        .timedOut, "The body comes too slowly.",
        remedy: "What was stored is stored: send it again with the same ids.")
}

extension Response {
    /// A response whose body is JSON text, or lines of it.
    init(
        json: [UInt8], status: HTTPResponse.Status = .ok, type: String = "application/json",
        headers: HTTPFields = [:]
    ) {
        var headers = headers
        headers[.contentType] = type
        self.init(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: json)))
    }

    /// The same response, for a request whose body was not read to its end.
    ///
    /// The answer goes out at once, because the peer may wait for it before it continues. Then up
    /// to `limit` bytes are dropped, so that a peer that sends before it reads does not lose the
    /// answer to a reset; then the connection ends.
    func endingConnection(with rest: BodyPieces, discarding limit: Int) -> Response {
        var response = self
        response.headers[.connection] = "close"
        let answer = body
        response.body = ResponseBody(contentLength: answer.contentLength) { writer in
            try await answer.write(writer)
            var left = limit
            while let piece = try await rest.next() {
                left -= piece.readableBytes
                guard left > 0 else {
                    throw RepriseError(.tooLarge, "The peer sends on after its refusal.")
                }
            }
        }
        return response
    }
}
