import HTTPTypes
import Hummingbird
import RepriseCore
import RepriseWire

/// The caller and its devices.
extension HTTPRoutes {
    func addAccounts<Context: RequestContext>(to router: Router<Context>) {
        on(.get, "/v1/me", in: router) { Self.me($0.who) }
        on(.get, "/v1/devices", in: router) { try await devices($0) }
        on(.put, "/v1/devices/:device", in: router) { try await setDevice($0) }
        on(.delete, "/v1/devices/:device", in: router) { call in
            let id = try call.id("device")
            _ = try await services.accounts.removeDevice(id, of: try call.me())
            return Response(status: .noContent)
        }
    }

    private static func me(_ who: Principal) -> Response {
        var json = JSONWriter()
        json.object { me in
            if let user = who.user {
                me.key("user")
                me.plain(user.text)
            }
            me.key("admin")
            me.bool(who.isAdmin)
            if let expires = who.expires {
                me.key("expires")
                me.integer(expires.milliseconds)
            }
        }
        return Response(json: json.bytes)
    }

    private func devices(_ call: HTTPRouteCall) async throws -> Response {
        let devices = try await services.accounts.devices(of: try call.me())
        var json = JSONWriter()
        json.object { answer in
            answer.key("devices")
            answer.array { list in devices.forEach { $0.write(to: &list) } }
        }
        return Response(json: json.bytes)
    }

    private func setDevice(_ call: HTTPRouteCall) async throws -> Response {
        let id = try call.id("device")
        let user = try call.me()
        return try await withObject(call) { object in
            guard let platform = try object.text("platform", atMost: AccountLimits.platformBytes),
                !platform.isEmpty
            else {
                throw RepriseError(.malformed, "platform is missing.")
            }
            let token = try object.optional("pushToken").map { _ in
                try PushToken(named: try object.string("pushToken"))
            }
            return RegisteredDevice(
                id: id, platform: platform, pushToken: token,
                subscription: try subscription(object), lastSeen: services.clock.wall())
        } _: { device in
            try await services.accounts.setDevice(device, of: user)
            var json = JSONWriter()
            device.write(to: &json)
            return Response(json: json.bytes)
        }
    }
}

extension HTTPRoutes {
    /// `webPush`: the members of `PushSubscription.toJSON()`; others are ignored.
    private func subscription(_ object: Envelope) throws -> WebPushSubscription? {
        guard object.optional("webPush") != nil else { return nil }
        return try object.raw("webPush").withUnsafeBufferPointer { bytes in
            let subscription = try Envelope(bytes)
            let endpoint = try subscription.string("endpoint")
            try services.endpoints.check(endpoint)
            return try subscription.raw("keys").withUnsafeBufferPointer { bytes in
                let keys = try Envelope(bytes)
                return try WebPushSubscription(
                    endpoint: endpoint, key: try keys.string("p256dh"),
                    secret: try keys.string("auth"))
            }
        }
    }
}

extension RegisteredDevice {
    /// Everything but the push token, which is a secret: only whether it exists.
    fileprivate func write(to json: inout JSONWriter) {
        json.object { device in
            device.key("device")
            device.plain(id.text)
            if let platform {
                device.key("platform")
                device.string(platform)
            }
            device.key("hasPushToken")
            device.bool(pushToken != nil)
            device.key("hasWebPush")
            device.bool(subscription != nil)
            device.key("seen")
            device.integer(lastSeen.milliseconds)
        }
    }
}
