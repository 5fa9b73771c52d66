import HTTPTypes
import Hummingbird
import RepriseCore
import RepriseWire

/// A user's mutes and quiet hours, and the delivery state of messages.
extension HTTPRoutes {
    private static let channelMute: RouterPath = "/v1/mutes/channels/:channel"
    private static let userMute: RouterPath = "/v1/mutes/users/:user"
    private static let elsewhere: RouterPath = "/v1/mutes/elsewhere"
    private static let hours: RouterPath = "/v1/quiet-hours"

    func addNotices<Context: RequestContext>(to router: Router<Context>) {
        on(.get, "/v1/mutes", in: router) { try await mutes($0) }
        on(.put, Self.channelMute, in: router) { try await mute($0, .channel(try $0.channel())) }
        on(.put, Self.userMute, in: router) { try await mute($0, .user(try $0.user())) }
        on(.delete, Self.channelMute, in: router) {
            try await unmute($0, .channel(try $0.channel()))
        }
        on(.delete, Self.userMute, in: router) { try await unmute($0, .user(try $0.user())) }
        on(.put, Self.elsewhere, in: router) { try await setSilentElsewhere($0) }
        on(.delete, Self.elsewhere, in: router) { call in
            try await services.accounts.perform(SetSilentElsewhere(false, of: try call.me()))
            return Response(status: .noContent)
        }
        on(.get, Self.hours, in: router) { try await quietHours($0) }
        on(.put, Self.hours, in: router) { try await setQuietHours($0) }
        on(.delete, Self.hours, in: router) { try await removeQuietHours($0) }
        on(.get, "/v1/push", in: router) { _ in
            try Response(PushKeyAnswer(applicationServerKey: services.webPushKey))
        }
        on(.get, "/v1/channels/:channel/deliveries/:seq", in: router) {
            try await deliveries($0)
        }
        on(.get, "/v1/channels/:channel/deliveries/:seq/devices", in: router) {
            try await deviceDeliveries($0)
        }
    }

    // MARK: Mutes

    private func mutes(_ call: HTTPRouteCall) async throws -> Response {
        let user = try call.me()
        let store = services.accounts.mutes
        let mutes = try await store.all(of: user, at: services.clock.wall())
        return try Response(
            MutesAnswer(
                mutes: mutes.map(MuteAnswer.init),
                elsewhere: try await store.isSilentElsewhere(user) ? true : nil))
    }

    private func setSilentElsewhere(_ call: HTTPRouteCall) async throws -> Response {
        let user = try call.me()
        return try await withObject(
            call, only: RequestFields.silentElsewhere, read: { _ in true }
        ) { isSilent in
            try await services.accounts.perform(SetSilentElsewhere(isSilent, of: user))
            return try Response(["elsewhere": isSilent])
        }
    }

    private func mute(_ call: HTTPRouteCall, _ subject: Mute.Subject) async throws -> Response {
        let user = try call.me()
        return try await withObject(call, only: RequestFields.mute) { object in
            let until = try object.number("until", in: 0...WireLimits.greatestSequence)
            let exceptMentions = try object.optional("exceptMentions").map { _ in
                try object.bool("exceptMentions")
            }
            return Mute(
                subject, until: until.map { WallTime(milliseconds: $0) },
                exceptMentions: exceptMentions)
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
        return try await withObject(call, only: RequestFields.quietHours) { object in
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
        let seq = try call.seq()
        let limit = try call.limit(limits.membersDefault, atMost: limits.membersMost)
        let after = try call.after { try UserID($0) }
        try await expect(seq, in: channel, for: call)
        // One more than the page, to know whether another follows.
        let found = try await services.accounts.positions.deliveries(
            of: seq, in: channel, after: after, limit: limit + 1)
        return try Response(
            DeliveriesAnswer(
                seq: seq, members: found.prefix(limit).map(DeliveriesAnswer.Recipient.init),
                next: found.count > limit ? found[limit - 1].user.text : nil))
    }

    /// The caller's own devices, also for a message of another user.
    private func deviceDeliveries(_ call: HTTPRouteCall) async throws -> Response {
        let channel = try call.channel()
        let seq = try call.seq()
        let user = try call.me()
        try await expect(seq, in: channel, for: call)
        let accounts = services.accounts
        let devices = try await accounts.positions.devices(of: user, for: seq, in: channel)
        let waiting = try await accounts.pushQueue.waiting(for: seq, in: channel, of: user)
        return try Response(
            DeviceDeliveriesAnswer(
                seq: seq,
                devices: devices.map { device in
                    .init(device, waiting?.filter { $0.device == device.device })
                }))
    }

    /// Refuses a sequence that the caller may not see, or that is not there.
    private func expect(
        _ seq: Int64, in channel: ChannelName, for call: HTTPRouteCall
    ) async throws {
        let grant = try await readingGrant(call, in: channel)
        guard seq > grant.joined, seq <= (try await services.log.state(of: channel).head) else {
            throw HTTPFailure(RefusalCode.noSuchMessage, "There is no such message.")
        }
    }
}

extension HTTPRouteCall {
    fileprivate func seq() throws -> Int64 {
        guard let seq = parameters.get("seq").flatMap({ Int64($0) }),
            (1...WireLimits.greatestSequence).contains(seq)
        else { throw RepriseError(.malformed, "A sequence is a whole number from 1.") }
        return seq
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

private struct DeviceDeliveriesAnswer: Encodable {
    struct Device: Encodable {
        let device: String
        let platform: String?
        let seen: Int64
        let services: [String]
        let delivered: Bool
        let pushed: Bool
        /// Nil where this server does not know.
        let waiting: [Waiting]?

        init(_ delivery: DeviceDelivery, _ pushes: [WaitingPush]?) {
            device = delivery.device.text
            platform = delivery.platform
            seen = delivery.lastSeen.milliseconds
            services = delivery.services.map(\.rawValue)
            delivered = delivery.isDelivered
            pushed = delivery.isPushed
            waiting = pushes?.map(Waiting.init)
        }
    }

    struct Waiting: Encodable {
        let service: String
        let attempts: Int
        let due: Int64
        let expires: Int64

        init(_ push: WaitingPush) {
            service = push.service.rawValue
            attempts = push.attempts
            due = push.due.milliseconds
            expires = push.expires.milliseconds
        }
    }

    let seq: Int64
    let devices: [Device]
}

private struct MutesAnswer: Encodable {
    let mutes: [MuteAnswer]
    /// Nil: not.
    let elsewhere: Bool?
}

private struct MuteAnswer: Encodable {
    let channelId: String?
    let user: String?
    let until: Int64?
    /// Nil: as usual for its subject.
    let exceptMentions: Bool?

    init(_ mute: Mute) {
        switch mute.subject {
        case .channel(let channel): (channelId, user) = (channel.text, nil)
        case .user(let id): (channelId, user) = (nil, id.text)
        }
        until = mute.until?.milliseconds
        let isUsual = mute.exceptMentions == mute.subject.exceptsMentions
        exceptMentions = isUsual ? nil : mute.exceptMentions
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
