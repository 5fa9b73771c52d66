import HTTPTypes
import Hummingbird
import RepriseCore
import RepriseWire

/// Publishing, editing, deleting and history.
extension HTTPRoutes {
    private static let messages: RouterPath = "/v1/channels/:channel/messages"
    private static let message: RouterPath = "/v1/channels/:channel/messages/:id"

    func addMessages<Context: RequestContext>(to router: Router<Context>) {
        on(.get, Self.messages, in: router) { try await history($0) }
        on(.post, Self.messages, in: router) { try await publish($0) }
        on(.patch, Self.message, in: router) { try await edit($0) }
        on(.delete, Self.message, in: router) { try await delete($0) }
    }

    // MARK: Publish

    /// The user and channel of a publish; checked repeatedly during a long stream.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.forbidden` for a caller without the current right
    ///   to publish.
    private func publisher(_ call: HTTPRouteCall, in channel: ChannelName) async throws
        -> HTTPPublisher
    {
        let grant = try await grant(call, in: channel, with: \.mayPublish)
        return HTTPPublisher(
            channel: channel, user: call.who.user, mayChangeOthers: grant.mayManage,
            isAdmin: call.who.isAdmin)
    }

    private func publish(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        switch try Self.contentType(of: call.request) {
        case "application/json": return try await publishOne(call, channel)
        case "application/x-ndjson": return try await publishStream(call, channel)
        default:
            throw HTTPFailure.unsupportedMediaType(
                "Send application/json with one message or application/x-ndjson with one a line.")
        }
    }

    private func publishOne(_ call: HTTPRouteCall, _ channel: ChannelName) async throws -> Response
    {
        try await reading(call.request, limits.messageBytes, limits.messageTime) { body in
            _ = try await publisher(call, in: channel)
            let text = try await body.all()
            // Again: the body may have taken half a minute, in which rights end.
            let current = try await publisher(call, in: channel)
            switch PublishedMessage.read(text, by: current) {
            case .refused(let failure, _): throw failure
            case .message(let message): return try await store(message)
            }
        }
    }

    private func store(_ message: NewMessage) async throws -> Response {
        var json = JSONWriter()
        let result = try await services.committer.commit([message]).first
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

    private func publishStream(_ call: HTTPRouteCall, _ channel: ChannelName) async throws
        -> Response
    {
        try await reading(call.request, limits.streamBytes, limits.streamTime) { body in
            let publisher = try await publisher(call, in: channel)
            let deadline = ContinuousClock.now + limits.streamTime
            let publishing = StreamPublishing(publisher, services.committer, limits) { count in
                try await self.waitForLeave(call.who, toPublish: count, until: deadline)
                return try await self.publisher(call, in: channel)
            }
            let answer: StreamAnswer
            (answer, body) = try await services.streams.run(
                of: call.who.isAdmin ? nil : call.who.user, within: limits
            ) { [body] in
                var (publishing, body) = (publishing, body)
                return (await publishing.run(&body), body)
            }
            return Response(
                json: answer.bytes, status: answer.status, type: "application/x-ndjson",
                headers: answer.headers)
        }
    }

    /// A stream is delayed where a single message is refused, for at most the time of its body.
    private func waitForLeave(
        _ who: Principal, toPublish count: Int, until deadline: ContinuousClock.Instant
    ) async throws {
        for _ in 0..<count {
            while let wait = services.wait(who) {
                let left = ContinuousClock.now.duration(to: deadline)
                guard left > .zero else {
                    throw RepriseError(
                        .timedOut, "The stream waited too long for leave to publish.",
                        remedy: "Send what was not stored again, with the same ids.")
                }
                try await Task.sleep(for: min(wait, left))
            }
        }
    }

    // MARK: Edit and delete

    private func edit(_ call: HTTPRouteCall) async throws -> Response {
        let target = try call.id("id")
        let channel = try call.channel()
        return try await reading(call.request, limits.messageBytes, limits.messageTime) { body in
            _ = try await publisher(call, in: channel)
            guard try Self.contentType(of: call.request) == "application/json" else {
                throw HTTPFailure.unsupportedMediaType("Send application/json.")
            }
            let text = try await body.all()
            let current = try await publisher(call, in: channel)
            switch PublishedMessage.read(text, by: current, change: .edits(target)) {
            case .refused(let failure, _): throw failure
            case .message(let message): return try await store(message)
            }
        }
    }

    private func delete(_ call: HTTPRouteCall) async throws -> Response {
        let target = try call.id("id")
        let channel = try call.channel()
        let id = try call.query("id").map { try EntryID($0) } ?? .random()
        let publisher = try await publisher(call, in: channel)
        return try await store(
            publisher.message(id, change: .deletes(target), body: PublishedMessage.null))
    }

    // MARK: History

    private func history(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        let after = try call.query("after", in: 0...WireLimits.greatestSequence) ?? 0
        let limit = try call.limit(limits.historyDefault, atMost: limits.historyMost)
        let grant = try await readingGrant(call, in: channel)
        let page = try await services.log.history(
            of: channel, after: max(after, grant.joined), limit: limit)
        let before = SequenceRange(after: after, through: grant.joined).map {
            Gone(range: $0, reason: .beforeJoin)
        }
        return Response(json: HistoryAnswer.json(page, before: before, of: channel))
    }
}
