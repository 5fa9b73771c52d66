import HTTPTypes
import Hummingbird
import RepriseCore
import RepriseWire

/// The caller and its devices.
extension HTTPRoutes {
    func addAccounts<Context: RequestContext>(to router: Router<Context>) {
        on(.get, "/v1/me", in: router) { try Response(CallerAnswer($0.who)) }
        on(.get, "/v1/profile", in: router) { call in
            try Response(try await services.accounts.profile(of: try call.me()))
        }
        on(.put, "/v1/profile", in: router) { try await setProfile($0) }
        on(.get, "/v1/presence", in: router) { call in
            let user = try call.me()
            return try Response(["hidden": try await presenceService().hides(user)])
        }
        on(.put, "/v1/presence", in: router) { try await setPresence($0) }
        for (method, isArchived) in [(HTTPRequest.Method.put, true), (.delete, false)] {
            on(method, "/v1/archive/:channel", in: router) { call in
                let command = SetArchived(
                    try call.channel(), isArchived, of: try call.me())
                try await services.accounts.perform(command)
                return Response(status: .noContent)
            }
        }
        on(.get, "/v1/devices", in: router) { try await devices($0) }
        on(.put, "/v1/devices/:device", in: router) { try await setDevice($0) }
        on(.delete, "/v1/devices/:device", in: router) { call in
            let id = try call.id("device")
            try await services.accounts.perform(RemoveDevice(id, of: try call.me()))
            return Response(status: .noContent)
        }
    }

    private func setProfile(_ call: HTTPRouteCall) async throws -> Response {
        let user = try call.me()
        return try await withObject(call, only: RequestFields.profile) { object in
            Profile(
                name: try object.text("name", atMost: NoticeAppearance.pictureBytes),
                picture: try object.text("picture", atMost: NoticeAppearance.pictureBytes))
        } _: { (profile: Profile) in
            try await services.accounts.perform(SetProfile(profile, of: user))
            return try Response(profile)
        }
    }

    private func setPresence(_ call: HTTPRouteCall) async throws -> Response {
        let user = try call.me()
        return try await withObject(
            call, only: RequestFields.presence, check: { _ = try presenceService() }
        ) { object in
            guard object.optional("hidden") != nil else {
                throw RepriseError(.malformed, "hidden is missing.")
            }
            return try object.bool("hidden")
        } _: { (isHidden: Bool) in
            try await presenceService().hide(user, isHidden)
            return try Response(["hidden": isHidden])
        }
    }

    private func presenceService() throws -> PresenceService {
        guard let presence = services.presence else {
            throw HTTPFailure(
                .notFound, "notConfigured", "The server was started without --presence.")
        }
        return presence
    }

    private func devices(_ call: HTTPRouteCall) async throws -> Response {
        let devices = try await services.accounts.devices.all(of: try call.me())
        return try Response(["devices": devices.map(DeviceAnswer.init)])
    }

    private func setDevice(_ call: HTTPRouteCall) async throws -> Response {
        let id = try call.id("device")
        let user = try call.me()
        return try await withObject(call, only: RequestFields.device) { object in
            guard let platform = try object.text("platform", atMost: AccountLimits.platformBytes),
                !platform.isEmpty
            else {
                throw RepriseError(.malformed, "platform is missing.")
            }
            let token = try object.optional("pushToken").map { _ in
                try PushToken(named: try object.string("pushToken"))
            }
            return SetDevice(
                id, of: user, platform: platform, pushToken: token,
                subscription: try subscription(object))
        } _: { (device: SetDevice) in
            try Response(DeviceAnswer(try await services.accounts.perform(device)))
        }
    }
}

extension HTTPRoutes {
    /// `webPush`: the members of `PushSubscription.toJSON()`; others are ignored, because the
    /// browser writes it.
    private func subscription(_ object: Envelope) throws -> WebPushSubscription? {
        guard object.optional("webPush") != nil else { return nil }
        let subscription = try object.object("webPush")
        let endpoint = try subscription.string("endpoint")
        try services.endpoints.check(endpoint)
        let keys = try subscription.object("keys")
        return try WebPushSubscription(
            endpoint: endpoint, key: try keys.string("p256dh"), secret: try keys.string("auth"))
    }
}

private struct CallerAnswer: Encodable {
    let user: String?
    let admin: Bool
    let expires: Int64?

    init(_ who: Principal) {
        user = who.user?.text
        admin = who.isAdmin
        expires = who.expires?.milliseconds
    }
}

/// Everything but the push token, which is a secret: only whether it exists.
private struct DeviceAnswer: Encodable {
    let device: String
    let platform: String?
    let hasPushToken: Bool
    let hasWebPush: Bool
    let seen: Int64

    init(_ registered: RegisteredDevice) {
        device = registered.id.text
        platform = registered.platform
        hasPushToken = registered.pushToken != nil
        hasWebPush = registered.subscription != nil
        seen = registered.lastSeen.milliseconds
    }
}
