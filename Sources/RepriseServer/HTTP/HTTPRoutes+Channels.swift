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
        return try Response(
            ChannelsAnswer(
                channels: answers, next: found.count > limit ? page.last?.name.text : nil))
    }

    private func channel(_ call: HTTPRouteCall) async throws -> Response {
        let name = try call.channel()
        _ = try await readingGrant(call, in: name)
        // A channel that nobody made exists if it may be read: as a public one, or a directory.
        let record =
            try await services.accounts.channel(name)
            ?? ChannelRecord(
                name: name,
                settings: ChannelSettings(visibility: name.isDirectory ? .private : .public),
                maker: nil, made: WallTime(milliseconds: 0))
        return try await response(record, to: call.who)
    }

    private func setChannel(_ call: HTTPRouteCall) async throws -> Response {
        let name = try call.channel()
        guard !name.isDirect || call.who.isAdmin else {
            throw RepriseError(
                .refused, "A channel of this name is a conversation of two.",
                remedy: "PUT /v1/direct/USER makes it.")
        }
        return try await withObject(call) {
            try ChannelSettings($0)
        } _: { settings in
            let set = try await services.accounts.perform(
                SetChannel(name, settings, by: call.who))
            return try await response(set.record, to: call.who, set.isNew ? .created : .ok)
        }
    }

    private func response(
        _ record: ChannelRecord, to who: Principal, _ status: HTTPResponse.Status = .ok
    ) async throws -> Response {
        try Response(try await answer(record, to: who), status: status)
    }

    private func answer(
        _ record: ChannelRecord, to who: Principal
    ) async throws -> ChannelAnswer {
        var answer = ChannelAnswer(record, try await services.log.state(of: record.name))
        guard let user = who.user else { return answer }
        let accounts = services.accounts
        let grant = try await accounts.grant(who, in: record.name)
        if let member = try await accounts.member(user, in: record.name) {
            (answer.role, answer.joined) = (member.role.rawValue, member.joined)
        }
        let position = try await accounts.positions(of: record.name, first: user, limit: 1)
            .first { $0.user == user }
        (answer.read, answer.delivered) = (position?.read ?? 0, position?.delivered ?? 0)
        let unread = try await unread(
            of: user, in: record.name, grant, read: position?.read ?? 0)
        if let unread {
            (answer.unread, answer.head) = (unread.count, unread.head)
            answer.mentions = unread.mentionsOrNil
        }
        return answer
    }
}

private struct ChannelsAnswer: Encodable {
    let channels: [ChannelAnswer]
    let next: String?
}

/// A channel as shown to its reader.
private struct ChannelAnswer: Encodable {
    struct Retention: Encodable {
        let messages: Int64?
        let seconds: Int64?
        let bytes: Int64?
    }

    let channelId: String
    let title: String?
    let visibility: String
    let history: String
    let retention: Retention?
    let epoch: String
    var head: Int64
    let floor: Int64
    var role: String?
    var joined: Int64?
    var read: Int64?
    var delivered: Int64?
    var unread: Int64?
    var mentions: Int64?

    init(_ record: ChannelRecord, _ state: LogChannelState) {
        channelId = record.name.text
        title = record.settings.title
        visibility = record.settings.visibility.rawValue
        history = record.settings.history.rawValue
        let policy = record.settings.retention
        retention =
            policy == RetentionPolicy()
            ? nil
            : Retention(
                messages: policy.count, seconds: policy.age?.components.seconds,
                bytes: policy.bytes)
        epoch = state.epoch.text
        head = state.head
        floor = state.floor
    }
}

extension ChannelSettings {
    /// Reads all settings; missing ones get their default, except the required visibility.
    init(_ object: Envelope) throws {
        guard let visibility: Visibility = try object.word("visibility") else {
            throw RepriseError(.malformed, "Say visibility: public, private or inbox.")
        }
        self.init(
            visibility: visibility, history: try object.word("history") ?? .all,
            retention: try RetentionPolicy(in: object),
            title: try object.text("title", atMost: AccountLimits.titleBytes))
    }
}

extension RetentionPolicy {
    private static let longest = AccountLimits.longestRetention.components.seconds

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
