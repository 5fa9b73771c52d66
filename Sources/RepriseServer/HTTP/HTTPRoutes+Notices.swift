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
        on(.get, "/v1/push", in: router) { _ in
            try Response(PushKeyAnswer(applicationServerKey: services.webPushKey))
        }
        on(.get, "/v1/channels/:channel/deliveries/:seq", in: router) {
            try await deliveries($0)
        }
    }

    // MARK: Mutes

    private func mutes(_ call: HTTPRouteCall) async throws -> Response {
        let mutes = try await services.accounts.mutes.all(
            of: try call.me(), at: services.clock.wall())
        return try Response(["mutes": mutes.map(MuteAnswer.init)])
    }

    private func mute(_ call: HTTPRouteCall, _ subject: Mute.Subject) async throws -> Response {
        let user = try call.me()
        return try await withObject(call) { object in
            let until = try object.number("until", in: 0...WireLimits.greatestSequence)
            return Mute(subject, until: until.map { WallTime(milliseconds: $0) })
        } _: { mute in
            try await services.accounts.perform(SetMute(mute, of: user))
            return try Response(MuteAnswer(mute))
        }
    }

    private func unmute(_ call: HTTPRouteCall, _ subject: Mute.Subject) async throws -> Response {
        try await services.accounts.perform(RemoveMute(subject, of: try call.me()))
        return Response(status: .noContent)
    }

    // MARK: Quiet hours

    private func quietHours(_ call: HTTPRouteCall) async throws -> Response {
        let all = try await services.accounts.mutes.quietHours(of: try call.me())
        return try Response(["quietHours": all.map { QuietHoursAnswer($0.hours, of: $0.device) }])
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
            guard
                try await services.accounts.perform(SetQuietHours(hours, of: user, on: device))
            else {
                throw HTTPFailure(.notFound, "notFound", "No such device is registered.")
            }
            return try Response(QuietHoursAnswer(hours, of: device))
        }
    }

    private func removeQuietHours(_ call: HTTPRouteCall) async throws -> Response {
        let device = try call.query("device").map { try EntryID($0) }
        try await services.accounts.perform(
            SetQuietHours(nil, of: try call.me(), on: device))
        return Response(status: .noContent)
    }

    // MARK: Deliveries

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
        let found = try await services.accounts.positions.deliveries(
            of: seq, in: channel, after: after, limit: limit + 1)
        return try Response(
            DeliveriesAnswer(
                seq: seq, members: found.prefix(limit).map(DeliveriesAnswer.Recipient.init),
                next: found.count > limit ? found[limit - 1].user.text : nil))
    }
}

private struct PushKeyAnswer: Encodable {
    let applicationServerKey: String?
}

private struct DeliveriesAnswer: Encodable {
    struct Recipient: Encodable {
        let user: String
        let state: String

        init(_ delivery: Delivery) {
            user = delivery.user.text
            state = delivery.state.rawValue
        }
    }

    let seq: Int64
    let members: [Recipient]
    let next: String?
}

private struct MuteAnswer: Encodable {
    let channelId: String?
    let user: String?
    let until: Int64?

    init(_ mute: Mute) {
        switch mute.subject {
        case .channel(let channel): (channelId, user) = (channel.text, nil)
        case .user(let id): (channelId, user) = (nil, id.text)
        }
        until = mute.until?.milliseconds
    }
}

private struct QuietHoursAnswer: Encodable {
    let device: String?
    let from: String
    let to: String
    let timeZone: String

    init(_ hours: QuietHours, of device: EntryID?) {
        self.device = device?.text
        from = hours.startText
        to = hours.endText
        timeZone = hours.zone
    }
}
