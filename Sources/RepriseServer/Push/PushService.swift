/// A push service for devices that are not connected.
package enum PushService: String, Hashable, Sendable, CaseIterable {
    case apns
    case webPush
}

/// The push address of one device: a secret.
package enum PushAddress: Hashable, Sendable {
    case apns(PushToken)
    case webPush(WebPushSubscription)

    /// The partition key: addresses of one partition share a service and its outages.
    ///
    /// Apple is one, each Web Push service another.
    package var partition: String {
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
