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
        on(.put, Self.channel, in: router) { call in
            try await setChannel(call) {
                SetChannel($0, try ChannelSettings($1), by: call.who)
            }
        }
        on(.patch, Self.channel, in: router) { call in
            try await setChannel(call, type: "application/merge-patch+json") {
                ChangeChannel($0, try ChangeChannel.Changes($1), by: call.who)
            }
        }
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
        if let record = try await services.accounts.channel(name) {
            return try await response(record, to: call.who)
        }
        // A channel that nobody made exists if it may be read: as a public one, or a directory.
        let record = ChannelRecord(
            name: name,
            settings: ChannelSettings(visibility: name.isDirectory ? .private : .public),
            maker: nil, made: WallTime(milliseconds: 0))
        var answer = try await answer(record, to: call.who)
        answer.made = nil
        return try Response(answer)
    }

    private func setChannel<Command: AccountCommand>(
        _ call: HTTPRouteCall, type: String? = nil,
        _ read: (ChannelName, Envelope) throws -> Command
    ) async throws -> Response where Command.Outcome == SetChannel.Outcome {
        let name = try call.channel()
        guard !name.isDirect || call.who.isAdmin else {
            throw RepriseError(
                .refused, "A channel of this name is a conversation of two.",
                remedy: "PUT /v1/direct/USER makes it.")
        }
        return try await withObject(
            call, only: RequestFields.channel, type: type,
            check: { try await checkMatch(call, name) }
        ) {
            try read(name, $0)
        } _: { command in
            let set = try await services.accounts.perform(command)
            return try await response(set.record, to: call.who, set.isNew ? .created : .ok)
        }
    }

    /// Refuses to make a channel with `If-Match: *`, and any other `If-Match`: it has no tag.
    ///
    /// None is ever removed, so it is there when the command is applied, too. RFC 9110 §13.1.1.
    private func checkMatch(_ call: HTTPRouteCall, _ name: ChannelName) async throws {
        guard let tags = EntityTags(call.request.headers[values: .ifMatch]) else { return }
        if tags.isAny {
            if try await services.accounts.channel(name) != nil { return }
            try await services.barrier?.pass()
            if try await services.accounts.channel(name) != nil { return }
        }
        throw RepriseError.notForThisUser
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
    /// Nil: nobody has made it.
    var made: Int64?
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
        made = record.made.milliseconds
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
            title: try object.title())
    }
}

extension RetentionPolicy {
    fileprivate init(in settings: Envelope) throws {
        self.init()
        try settings.withRetention { object in
            count = try object.number("messages", in: Self.amounts)
            age = try object.number("seconds", in: Self.seconds).map { .seconds($0) }
            bytes = try object.number("bytes", in: Self.amounts)
        }
    }

    fileprivate static let amounts = 1...WireLimits.greatestSequence
    fileprivate static let seconds = 1...AccountLimits.longestRetention.components.seconds
}

extension ChangeChannel.Changes {
    /// Reads a merge patch (RFC 7396); each setting but the visibility can be dropped.
    init(_ object: Envelope) throws {
        self.init()
        guard !object.isNull("visibility") else {
            throw RepriseError(.malformed, "A channel has a visibility: leave it out to keep it.")
        }
        visibility = try object.word("visibility")
        history = try object.word("history")
        if object.isNull("history") { history = .all }
        title = object.change("title", to: try object.title())
        if object.isNull("retention") { (count, age, bytes) = (.dropped, .dropped, .dropped) }
        try object.withRetention { object in
            count = object.change(
                "messages", to: try object.number("messages", in: RetentionPolicy.amounts))
            age = object.change(
                "seconds",
                to: try object.number("seconds", in: RetentionPolicy.seconds).map { .seconds($0) })
            bytes = object.change(
                "bytes", to: try object.number("bytes", in: RetentionPolicy.amounts))
        }
    }
}

extension Envelope {
    /// A new title, checked here alone: the journal of a cluster has former ones.
    fileprivate func title() throws -> String? {
        let title = try text("title", atMost: AccountLimits.titleBytes)
        guard title.map(PushText.isLine) ?? true else {
            throw RepriseError(
                .malformed,
                "A title is one line, without controls and changes of the text's direction.")
        }
        return title
    }

    fileprivate func withRetention(_ read: (Envelope) throws -> Void) throws {
        guard optional("retention") != nil else { return }
        let retention = try object("retention")
        try naming("retention") {
            try retention.expect(only: RequestFields.retention)
            try read(retention)
        }
    }

    /// Whether a field is there, and `null`.
    fileprivate func isNull(_ name: StaticString) -> Bool {
        optional(name) == nil && (try? value(name)) != nil
    }

    fileprivate func change<Value>(
        _ name: StaticString, to value: Value?
    ) -> ChangeChannel.Change<Value> {
        guard let value else { return isNull(name) ? .dropped : .kept }
        return .set(value)
    }
}
