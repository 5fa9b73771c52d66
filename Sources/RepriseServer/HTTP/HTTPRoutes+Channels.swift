import HTTPTypes
import Hummingbird
import RepriseCore
import RepriseWire

/// Channels and their settings.
extension HTTPRoutes {
    private static let channel: RouterPath = "/v1/channels/:channel"

    func addChannels<Context: RequestContext>(to router: Router<Context>) {
        on(.get, "/v1/channels", in: router) { try await channels($0) }
        on(.get, Self.channel, in: router) { try await channel($0) }
        on(.put, Self.channel, in: router) { try await setChannel($0) }
        addMembers(to: router)
    }

    private func channels(_ call: HTTPRouteCall) async throws -> Response {
        let limit = try call.limit(limits.channelsDefault, atMost: limits.channelsMost)
        let after = try call.after { try ChannelName($0) }
        // One more than the page, to know whether another follows.
        let found = try await services.accounts.channels(
            of: call.who.user, after: after, limit: limit + 1)
        let page = found.prefix(limit)
        var answers: [ChannelAnswer] = []
        for record in page { answers.append(try await answer(record, to: call.who)) }
        var json = JSONWriter()
        json.object { answer in
            answer.key("channels")
            answer.array { list in answers.forEach { $0.write(to: &list) } }
            if found.count > limit, let last = page.last {
                answer.key("next")
                answer.plain(last.name.text)
            }
        }
        return Response(json: json.bytes)
    }

    private func channel(_ call: HTTPRouteCall) async throws -> Response {
        let name = try call.channel()
        _ = try await readingGrant(call, in: name)
        // A channel that nobody made exists if it may be read: as a public one.
        let record =
            try await services.accounts.channel(name)
            ?? ChannelRecord(
                name: name, settings: ChannelSettings(), maker: nil,
                made: WallTime(milliseconds: 0))
        return try await response(record, to: call.who)
    }

    private func setChannel(_ call: HTTPRouteCall) async throws -> Response {
        let name = try call.channel()
        return try await withObject(call) {
            try ChannelSettings($0)
        } _: { settings in
            let isNew = try await services.accounts.channel(name) == nil
            let head = try await services.log.state(of: name).head
            let record = try await services.accounts.setChannel(
                name, settings, by: call.who, at: services.clock.wall(), head: head)
            return try await response(record, to: call.who, isNew ? .created : .ok)
        }
    }

    private func response(
        _ record: ChannelRecord, to who: Principal, _ status: HTTPResponse.Status = .ok
    ) async throws -> Response {
        var json = JSONWriter()
        try await answer(record, to: who).write(to: &json)
        return Response(json: json.bytes, status: status)
    }

    private func answer(
        _ record: ChannelRecord, to who: Principal
    ) async throws -> ChannelAnswer {
        var answer = ChannelAnswer(
            record: record, state: try await services.log.state(of: record.name))
        guard let user = who.user else { return answer }
        let accounts = services.accounts
        let grant = try await accounts.grant(who, in: record.name)
        answer.member = try await accounts.member(user, in: record.name)
        answer.position = try await accounts.positions(of: record.name, first: user, limit: 1)
            .first { $0.user == user }
        answer.unread = try await unread(
            of: user, in: record.name, grant, read: answer.position?.read ?? 0)
        return answer
    }
}

/// A channel as shown to its reader.
struct ChannelAnswer {
    let record: ChannelRecord
    let state: LogChannelState
    var member: Member?
    var position: ServerFrame.Position?
    var unread: Unread?

    func write(to json: inout JSONWriter) {
        json.object { channel in
            writeSettings(to: &channel)
            channel.key("epoch")
            channel.plain(state.epoch.text)
            channel.key("head")
            channel.integer(unread?.head ?? state.head)
            channel.key("floor")
            channel.integer(state.floor)
            writeReader(to: &channel)
        }
    }

    private func writeSettings(to channel: inout JSONWriter) {
        channel.key("channelId")
        channel.plain(record.name.text)
        if let title = record.settings.title {
            channel.key("title")
            channel.string(title)
        }
        channel.key("visibility")
        channel.plain(record.settings.visibility.rawValue)
        channel.key("history")
        channel.plain(record.settings.history.rawValue)
        let policy = record.settings.retention
        guard policy != RetentionPolicy() else { return }
        channel.key("retention")
        channel.object { retention in
            if let count = policy.count {
                retention.key("messages")
                retention.integer(count)
            }
            if let age = policy.age {
                retention.key("seconds")
                retention.integer(age.components.seconds)
            }
            if let bytes = policy.bytes {
                retention.key("bytes")
                retention.integer(bytes)
            }
        }
    }

    private func writeReader(to channel: inout JSONWriter) {
        if let member {
            channel.key("role")
            channel.plain(member.role.rawValue)
            channel.key("joined")
            channel.integer(member.joined)
        }
        guard let unread else { return }
        channel.key("read")
        channel.integer(position?.read ?? 0)
        channel.key("delivered")
        channel.integer(position?.delivered ?? 0)
        channel.key("unread")
        channel.integer(unread.count)
    }
}

extension ChannelSettings {
    /// Reads all settings; missing ones get their default, except the required visibility.
    init(_ object: Envelope) throws {
        guard let visibility: Visibility = try object.word("visibility") else {
            throw RepriseError(.malformed, "Say visibility: public or private.")
        }
        self.init(
            visibility: visibility, history: try object.word("history") ?? .all,
            retention: try RetentionPolicy(in: object),
            title: try object.text("title", atMost: AccountLimits.titleBytes))
    }
}

extension RetentionPolicy {
    private static let longest: Int64 = 100 * 365 * 86_400

    fileprivate init(in settings: Envelope) throws {
        guard settings.optional("retention") != nil else {
            self.init()
            return
        }
        let text = try settings.raw("retention")
        self = try text.withUnsafeBufferPointer { bytes in
            let object = try Envelope(bytes)
            let range = 1...WireLimits.greatestSequence
            return RetentionPolicy(
                count: try object.number("messages", in: range),
                age: try object.number("seconds", in: 1...Self.longest).map { .seconds($0) },
                bytes: try object.number("bytes", in: range))
        }
    }
}
