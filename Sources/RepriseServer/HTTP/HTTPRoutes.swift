import Foundation
import HTTPTypes
package import Hummingbird
import RepriseCore
import RepriseWire

/// The HTTP API: publish, history, health and readiness.
///
/// ```swift
/// let router = Router()
/// HTTPRoutes(log: log, committer: committer).add(to: router)
/// ```
///
/// - `POST /v1/channels/{channel}/messages` with `application/json` stores one message and answers `{"id","seq"}`, with
///   `"duplicate":true` if its id was stored before; with `application/x-ndjson` one a line, answered line by line in order.
/// - `GET /v1/channels/{channel}/messages?after=&limit=` answers a page of the channel.
/// - `GET /healthz`: the process lives. `GET /readyz`: the log can be written and nothing is shutting down.
///
/// Every error is `{"error":{"code","message"}}`.
package struct HTTPRoutes: Sendable {
    private static let messages: RouterPath = "/v1/channels/:channel/messages"

    private let log: any MessageLog
    private let committer: Committer
    private let limits: HTTPLimits

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - log: what history reads.
    ///   - committer: what stores; once it is shut down `/readyz` says so.
    ///   - limits: the bounds.
    package init(log: any MessageLog, committer: Committer, limits: HTTPLimits = HTTPLimits()) {
        self.log = log
        self.committer = committer
        self.limits = limits
    }

    /// Adds the routes, and the rule that every error of this router is JSON.
    package func add<Context: RequestContext>(to router: Router<Context>) {
        router.add(middleware: JSONErrors())
        router.post(Self.messages) { request, context in
            try await publish(request, try channel(context))
        }
        get(Self.messages, in: router, also: [.post]) { request, context in
            try await history(request, try channel(context))
        }
        get("/healthz", in: router) { _, _ in Response(json: Array(#"{"status":"ok"}"#.utf8)) }
        get("/readyz", in: router) { _, _ in
            guard await committer.isReady() else {
                throw HTTPFailure(.unavailable, "The log cannot be written, or is shutting down.")
            }
            return Response(json: Array(#"{"status":"ready"}"#.utf8))
        }
    }

    /// Adds a route for GET and HEAD, and a 405 for the methods that are not there.
    private func get<Context: RequestContext>(
        _ path: RouterPath, in router: Router<Context>, also others: [HTTPRequest.Method] = [],
        use answer: @escaping @Sendable (Request, Context) async throws -> Response
    ) {
        router.get(path, use: answer)
        router.on(path, method: .head) { request, context in
            try await answer(request, context).createHeadResponse()
        }
        let allowed: [HTTPRequest.Method] = [.get, .head] + others
        let all: [HTTPRequest.Method] = [.post, .put, .patch, .delete, .options, .trace]
        for method in all where !allowed.contains(method) {
            router.on(path, method: method) { _, _ -> Response in
                let names = allowed.map(\.rawValue).joined(separator: ", ")
                throw HTTPFailure(
                    .methodNotAllowed, "methodNotAllowed", "This path knows \(names).",
                    headers: [.allow: names])
            }
        }
    }

    private func channel(_ context: some RequestContext) throws -> ChannelName {
        let text = context.parameters.get("channel") ?? ""
        return try ChannelName(text.removingPercentEncoding ?? text)
    }

    // MARK: Publish

    private func publish(_ request: Request, _ channel: ChannelName) async throws -> Response {
        guard request.headers[.contentEncoding] ?? "identity" == "identity" else {
            throw HTTPFailure(
                .unsupportedMediaType, "unsupportedMediaType", "Send the body uncompressed.")
        }
        let type = request.headers[.contentType]?.split(separator: ";").first ?? ""
        switch type.trimmingCharacters(in: .whitespaces).lowercased() {
        case "application/json": return try await publishOne(request, channel)
        case "application/x-ndjson": return try await publishStream(request, channel)
        default:
            throw HTTPFailure(
                .unsupportedMediaType, "unsupportedMediaType",
                "Send application/json with one message or application/x-ndjson with one a line.")
        }
    }

    private func publishOne(_ request: Request, _ channel: ChannelName) async throws -> Response {
        try await reading(request, limits.messageBytes, limits.messageTime) { body in
            switch PublishedMessage.read(try await body.all(), for: channel) {
            case .refused(let failure, _): throw failure
            case .message(let message):
                let result = try await committer.commit([message]).first
                return try answer(to: message, result)
            }
        }
    }

    private func answer(to message: NewMessage, _ result: AppendResult?) throws -> Response {
        var json = JSONWriter()
        switch result {
        case .stored(let event), .buried(_, let event):
            PublishedMessage.write(message.id, event.seq, isDuplicate: false, to: &json)
        case .duplicate(let seq):
            PublishedMessage.write(message.id, seq, isDuplicate: true, to: &json)
        case .refused(let code, let text): throw HTTPFailure(code, text)
        case nil: throw RepriseError(.internal, "The log gave no answer.")
        }
        return Response(json: json.bytes)
    }

    private func publishStream(
        _ request: Request, _ channel: ChannelName
    ) async throws -> Response {
        try await reading(request, limits.streamBytes, limits.streamTime) { body in
            var publishing = StreamPublishing(channel, committer, limits)
            let answer = try await publishing.run(&body)
            return Response(
                json: answer.bytes, status: answer.status, type: "application/x-ndjson",
                headers: answer.headers)
        }
    }

    /// Reads a body within bounds; who sends far beyond them gets its answer, and then the connection ends.
    private func reading(
        _ request: Request, _ byteLimit: Int, _ time: Duration,
        _ answer: (inout BodyReader) async throws -> Response
    ) async throws -> Response {
        var body = BodyReader(request, byteLimit: byteLimit, time: time)
        let response: Response
        do {
            try body.checkLength(request)
            response = try await answer(&body)
        } catch let error as RepriseError {
            response = HTTPFailure(error).response
        } catch let failure as HTTPFailure {
            response = failure.response
        }
        if body.isAtEnd { return response }
        return response.endingConnection(with: body.pieces, discarding: limits.discardedBytes)
    }

    // MARK: History

    private func history(_ request: Request, _ channel: ChannelName) async throws -> Response {
        let after = try parameter("after", of: request, in: 0...WireLimits.greatestSequence) ?? 0
        let limit =
            try parameter("limit", of: request, in: 1...Int64(limits.historyMost))
            ?? Int64(limits.historyDefault)
        let page = try await log.history(of: channel, after: after, limit: Int(limit))
        return Response(json: HistoryAnswer.json(page, of: channel))
    }

    private func parameter(
        _ name: Substring, of request: Request, in range: ClosedRange<Int64>
    ) throws -> Int64? {
        guard let text = request.uri.queryParameters[name] else { return nil }
        guard let value = Int64(text), range.contains(value) else {
            throw RepriseError(
                .malformed,
                "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return value
    }
}
