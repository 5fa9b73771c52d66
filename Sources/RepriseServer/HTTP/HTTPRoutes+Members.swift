import HTTPTypes
import Hummingbird
import RepriseCore
import RepriseWire

/// The members of a channel.
extension HTTPRoutes {
    private static let members: RouterPath = "/v1/channels/:channel/members"
    private static let member: RouterPath = "/v1/channels/:channel/members/:user"

    func addMembers<Context: RequestContext>(to router: Router<Context>) {
        on(.get, Self.members, in: router) { try await members($0) }
        on(.put, Self.member, in: router) { try await setMember($0) }
        on(.delete, Self.member, in: router) { try await removeMember($0) }
        on(.put, "/v1/direct/:user", in: router) { try await makeDirect($0) }
    }

    /// The conversation of the caller and another user, made if it is not there.
    ///
    /// Without an owner: neither of them adds others. Both may leave, and come back by this.
    private func makeDirect(_ call: HTTPRouteCall) async throws -> Response {
        let (me, other) = (try call.me(), try call.user())
        guard me != other else {
            throw RepriseError(.malformed, "A conversation has another user.")
        }
        let channel = ChannelName.direct(me, other)
        let accounts = services.accounts
        try await becomeCurrent()
        let isNew = try await accounts.channel(channel) == nil
        if isNew {
            // No wait makes room: a device that tried again would do so for ever.
            guard try await accounts.directCount(of: me) < limits.directs else {
                throw HTTPFailure(
                    .tooManyChannels,
                    "A user has at most \(limits.directs) conversations of two.")
            }
            try await accounts.perform(
                SetChannel(channel, ChannelSettings(visibility: .private), by: .open))
        }
        for user in [me, other] where try await accounts.member(user, in: channel) == nil {
            try await accounts.perform(SetMember(user, .member, in: channel, by: .open))
        }
        return try Response(
            DirectAnswer(channelId: channel.text, user: other.text),
            status: isNew ? .created : .ok)
    }

    private func members(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        let limit = try call.limit(limits.membersDefault, atMost: limits.membersMost)
        let after = try call.after { try UserID($0) }
        _ = try await readingGrant(call, in: channel)
        let found = try await services.accounts.members(
            of: channel, after: after, limit: limit + 1)
        let page = found.prefix(limit)
        return try Response(
            MembersAnswer(
                members: page.map(MemberAnswer.init),
                next: found.count > limit ? page.last?.user.text : nil))
    }

    private func setMember(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        let user = try call.user()
        return try await withObject(call, only: RequestFields.member, empty: .some(nil)) {
            // Before the body is read; what holds is decided when it is written.
            let joining = SetMember(user, .member, in: channel, by: call.who)
            _ = try await grant(call, in: channel, with: joining.isAllowed)
        } read: {
            try $0.word("role")
        } _: { (asked: Member.Role?) in
            // An invitation that names no role takes none from an owner.
            var role = asked
            if role == nil {
                try await becomeCurrent()
                role = try await services.accounts.member(user, in: channel)?.role
            }
            let set = try await services.accounts.perform(
                SetMember(user, role ?? .member, in: channel, by: call.who))
            return try Response(MemberAnswer(set.member), status: set.isNew ? .created : .ok)
        }
    }

    /// Called before a command is made of what is read here: another gateway may have changed it.
    ///
    /// A request that changes it meanwhile is overwritten, as on a single server.
    private func becomeCurrent() async throws { try await services.barrier?.pass() }

    private func removeMember(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        let user = try call.user()
        try await services.accounts.perform(RemoveMember(user, from: channel, by: call.who))
        return Response(status: .noContent)
    }
}

private struct DirectAnswer: Encodable {
    let channelId: String
    let user: String
}

private struct MembersAnswer: Encodable {
    let members: [MemberAnswer]
    let next: String?
}

private struct MemberAnswer: Encodable {
    let user: String
    let role: String
    let joined: Int64
    let since: Int64

    init(_ member: Member) {
        user = member.user.text
        role = member.role.rawValue
        joined = member.joined
        since = member.since.milliseconds
    }
}
