// Not run by the project's own tests, which run on Linux; compiled only with UserNotifications.
#if canImport(UserNotifications) && !os(watchOS) && !os(tvOS)
    import Foundation
    package import RepriseCore
    package import UserNotifications

    // From the system's types to those of the ports, one member after the other; what only an app
    // needs is in RepriseApple.

    extension NotificationContent {
        /// The key of `info` in the system's `userInfo`, for content made by RepriseApple.
        package static let key = "reprise"

        package init(_ content: UNNotificationContent) {
            self.init(
                title: content.title, body: content.body, info: Self.json(content.userInfo))
            subtitle = content.subtitle
            badge = content.badge?.intValue
            sound = content.sound != nil
            thread = content.threadIdentifier
            category = content.categoryIdentifier
            interruption = Interruption(content.interruptionLevel)
            relevance = content.relevanceScore
        }

        /// A payload as a JSON object: the app's own, or a push's.
        ///
        /// - Returns: UTF-8; an empty object for a value that is not JSON.
        package static func json(_ userInfo: [AnyHashable: Any]) -> [UInt8] {
            if let text = userInfo[key] as? String { return Array(text.utf8) }
            guard JSONSerialization.isValidJSONObject(userInfo),
                let data = try? JSONSerialization.data(
                    withJSONObject: userInfo, options: [.sortedKeys])
            else { return Array("{}".utf8) }
            return Array(data)
        }
    }

    extension NotificationContent.Interruption {
        package init(_ level: UNNotificationInterruptionLevel) {
            switch level {
            case .passive: self = .passive
            case .active: self = .active
            case .timeSensitive: self = .timeSensitive
            case .critical: self = .critical
            @unknown default: self = .active
            }
        }

        package var level: UNNotificationInterruptionLevel {
            switch self {
            case .passive: .passive
            case .active: .active
            case .timeSensitive: .timeSensitive
            case .critical: .critical
            }
        }
    }

    extension NotificationRequest {
        package init(_ request: UNNotificationRequest) {
            let trigger: NotificationTrigger? =
                switch request.trigger {
                case let interval as UNTimeIntervalNotificationTrigger:
                    .after(seconds: interval.timeInterval, repeats: interval.repeats)
                case let calendar as UNCalendarNotificationTrigger:
                    .calendar(calendar.dateComponents, repeats: calendar.repeats)
                default: nil
                }
            self.init(
                id: request.identifier, content: NotificationContent(request.content),
                trigger: trigger)
        }
    }
#endif
