/// By what messages come.
package enum ReachMode: String, CaseIterable, Sendable, Codable {
    case sockets, refresh, webPush, apns

    /// For people.
    package var title: String {
        switch self {
        case .sockets: "sockets only"
        case .refresh: "sockets + refresh"
        case .webPush: "Web Push"
        case .apns: "APNs"
        }
    }
}

/// When a message is shown.
package enum ReachHorizon: Int, CaseIterable, Sendable {
    case fiveSeconds, minute, hour

    package var seconds: Double {
        switch self {
        case .fiveSeconds: 5
        case .minute: 60
        case .hour: 3_600
        }
    }

    /// For people.
    package var title: String {
        switch self {
        case .fiveSeconds: "5 s"
        case .minute: "1 min"
        case .hour: "1 h"
        }
    }
}
