import HTTPTypes
import Hummingbird
import RepriseCore
import RepriseWire

/// A user's mutes and quiet hours, and the delivery state of messages.
extension HTTPRoutes {
    private static let channelMute: RouterPath = "/v1/mutes/channels/:channel"
    private static let userMute: RouterPath = "/v1/mutes/users/:user"
    private static let hours: RouterPath = "/v1/quiet-hours"

    func addNotices<Context: RequestContext>(to router: Router<Context>) {
        on(.get, "/v1/mutes", in: router) { try await mutes($0) }
        on(.put, Self.channelMute, in: router) { try await mute($0, .channel(try $0.channel())) }
        on(.put, Self.userMute, in: router) { try await mute($0, .user(try $0.user())) }
        on(.delete, Self.channelMute, in: router) {
            try await unmute($0, .channel(try $0.channel()))
        }
        on(.delete, Self.userMute, in: router) { try await unmute($0, .user(try $0.user())) }
        on(.get, Self.hours, in: router) { try await quietHours($0) }
        on(.put, Self.hours, in: router) { try await setQuietHours($0) }
        on(.delete, Self.hours, in: router) { try await removeQuietHours($0) }
        on(.get, "/v1/push", in: router) { push($0) }
        on(.get, "/v1/channels/:channel/deliveries/:seq", in: router) {
            try await deliveries($0)
        }
    }

    // MARK: Mutes

    private func mutes(_ call: HTTPRouteCall) async throws -> Response {
        let mutes = try await services.accounts.mutes(
            of: try call.me(), at: services.clock.wall())
        var json = JSONWriter()
        json.object { answer in
            answer.key("mutes")
            answer.array { list in mutes.forEach { $0.write(to: &list) } }
        }
        return Response(json: json.bytes)
    }

    private func mute(_ call: HTTPRouteCall, _ subject: Mute.Subject) async throws -> Response {
        let user = try call.me()
        return try await withObject(call) { object in
            let until = try object.number("until", in: 0...WireLimits.greatestSequence)
            return Mute(subject, until: until.map { WallTime(milliseconds: $0) })
        } _: { mute in
            try await services.accounts.setMute(mute, of: user, at: services.clock.wall())
            var json = JSONWriter()
            mute.write(to: &json)
            return Response(json: json.bytes)
        }
    }

    private func unmute(_ call: HTTPRouteCall, _ subject: Mute.Subject) async throws -> Response {
        try await services.accounts.removeMute(subject, of: try call.me())
        return Response(status: .noContent)
    }

    // MARK: Quiet hours

    private func quietHours(_ call: HTTPRouteCall) async throws -> Response {
        let all = try await services.accounts.quietHours(of: try call.me())
        var json = JSONWriter()
        json.object { answer in
            answer.key("quietHours")
            answer.array { list in
                for (device, hours) in all { hours.write(device, to: &list) }
            }
        }
        return Response(json: json.bytes)
    }

    private func setQuietHours(_ call: HTTPRouteCall) async throws -> Response {
        let user = try call.me()
        return try await withObject(call) { object in
            let hours = try QuietHours(
                from: try object.string("from"), to: try object.string("to"),
                zone: try object.string("timeZone"))
            let device = try object.optional("device").map { _ in try object.id("device") }
            return (device, hours)
        } _: { (device: EntryID?, hours: QuietHours) in
            guard try await services.accounts.setQuietHours(hours, of: user, on: device) else {
                throw HTTPFailure(.notFound, "notFound", "No such device is registered.")
            }
            var json = JSONWriter()
            hours.write(device, to: &json)
            return Response(json: json.bytes)
        }
    }

    private func removeQuietHours(_ call: HTTPRouteCall) async throws -> Response {
        let device = try call.query("device").map { try EntryID($0) }
        try await services.accounts.setQuietHours(nil, of: try call.me(), on: device)
        return Response(status: .noContent)
    }

    // MARK: Push

    private func push(_ call: HTTPRouteCall) -> Response {
        var json = JSONWriter()
        json.object { answer in
            guard let key = services.webPushKey else { return }
            answer.key("applicationServerKey")
            answer.plain(key)
        }
        return Response(json: json.bytes)
    }

    private func deliveries(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        guard let seq = call.parameters.get("seq").flatMap({ Int64($0) }),
            (1...WireLimits.greatestSequence).contains(seq)
        else { throw RepriseError(.malformed, "A sequence is a whole number from 1.") }
        let limit = try call.limit(limits.membersDefault, atMost: limits.membersMost)
        let after = try call.after { try UserID($0) }
        let grant = try await readingGrant(call, in: channel)
        guard seq > grant.joined, seq <= (try await services.log.state(of: channel).head) else {
            throw HTTPFailure(RefusalCode.noSuchMessage, "There is no such message.")
        }
        // One more than the page, to know whether another follows.
        let found = try await services.accounts.deliveries(
            of: seq, in: channel, after: after, limit: limit + 1)
        var json = JSONWriter()
        json.object { answer in
            answer.key("seq")
            answer.integer(seq)
            answer.key("members")
            answer.array { list in found.prefix(limit).forEach { $0.write(to: &list) } }
            if found.count > limit {
                answer.key("next")
                answer.plain(found[limit - 1].user.text)
            }
        }
        return Response(json: json.bytes)
    }
}

extension Delivery {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { delivery in
            delivery.key("user")
            delivery.plain(user.text)
            delivery.key("state")
            delivery.plain(state.rawValue)
        }
    }
}

extension Mute {
    fileprivate func write(to json: inout JSONWriter) {
        json.object { mute in
            switch subject {
            case .channel(let channel):
                mute.key("channelId")
                mute.plain(channel.text)
            case .user(let user):
                mute.key("user")
                mute.plain(user.text)
            }
            guard let until else { return }
            mute.key("until")
            mute.integer(until.milliseconds)
        }
    }
}

extension QuietHours {
    fileprivate func write(_ device: EntryID?, to json: inout JSONWriter) {
        json.object { hours in
            if let device {
                hours.key("device")
                hours.plain(device.text)
            }
            hours.key("from")
            hours.plain(startText)
            hours.key("to")
            hours.plain(endText)
            hours.key("timeZone")
            hours.string(zone)
        }
    }
}
