/// A way to reach devices that are not connected.
package enum PushService: String, Hashable, Sendable, CaseIterable {
    case apns
    case webPush
}

/// Where one device's pushes go: a secret.
package enum PushAddress: Hashable, Sendable {
    case apns(PushToken)
    case webPush(WebPushSubscription)

    /// Whoever takes the pushes: what is down for one address of a lane is down for all.
    ///
    /// Apple is one, each push service of the web another.
    package var lane: String {
        switch self {
        case .apns: ""
        case .webPush(let subscription): subscription.origin
        }
    }

    package var service: PushService {
        switch self {
        case .apns: .apns
        case .webPush: .webPush
        }
    }
}
