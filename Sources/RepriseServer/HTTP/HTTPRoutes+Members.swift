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
    }

    private func members(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        let limit = try call.limit(limits.membersDefault, atMost: limits.membersMost)
        let after = try call.after { try UserID($0) }
        _ = try await readingGrant(call, in: channel)
        let found = try await services.accounts.members(
            of: channel, after: after, limit: limit + 1)
        let page = found.prefix(limit)
        var json = JSONWriter()
        json.object { answer in
            answer.key("members")
            answer.array { list in page.forEach { $0.write(to: &list) } }
            if found.count > limit, let last = page.last {
                answer.key("next")
                answer.plain(last.user.text)
            }
        }
        return Response(json: json.bytes)
    }

    private func setMember(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        let user = try call.user()
        let grant = try await grant(call, in: channel)
        return try await withObject(call, empty: .member) {
            guard grant.mayManage || grant.mayRead && call.who.user == user else {
                throw RepriseError.notForThisUser
            }
        } read: {
            try $0.word("role") ?? .member
        } _: { (role: Member.Role) in
            // A user who joins alone does not become an owner.
            guard grant.mayManage || role == .member else { throw RepriseError.notForThisUser }
            let accounts = services.accounts
            let isNew = try await accounts.member(user, in: channel) == nil
            let head = try await services.log.state(of: channel).head
            let member = try await accounts.setMember(
                user, role: role, joined: head, in: channel, by: call.who,
                at: services.clock.wall())
            var json = JSONWriter()
            member.write(to: &json)
            return Response(json: json.bytes, status: isNew ? .created : .ok)
        }
    }

    private func removeMember(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        let user = try call.user()
        let isSelf = call.who.user == user
        let mayManage = try await grant(call, in: channel).mayManage
        guard isSelf || mayManage else { throw RepriseError.notForThisUser }
        _ = try await services.accounts.removeMember(user, from: channel)
        return Response(status: .noContent)
    }
}

extension Member {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { member in
            member.key("user")
            member.plain(user.text)
            member.key("role")
            member.plain(role.rawValue)
            member.key("joined")
            member.integer(joined)
            member.key("since")
            member.integer(since.milliseconds)
        }
    }
}
