// Not run by the project's own tests, which run on Linux; compiled only with UserNotifications.
#if canImport(UserNotifications) && !os(watchOS) && !os(tvOS)
    import Foundation
    public import RepriseCore
    import RepriseExtension
    public import UserNotifications

    // From the system's types to those of the ports, and back; one member after the other.

    extension NotificationSettings {
        init(_ settings: UNNotificationSettings) {
            let authorization: Authorization =
                switch settings.authorizationStatus {
                case .notDetermined: .notDetermined
                case .denied: .denied
                case .provisional: .provisional
                #if canImport(UIKit)
                    case .ephemeral: .provisional
                #endif
                case .authorized: .authorized
                @unknown default: .denied
                }
            self.init(
                authorization: authorization, alerts: settings.alertSetting == .enabled,
                badges: settings.badgeSetting == .enabled,
                sounds: settings.soundSetting == .enabled)
        }
    }

    extension NotificationContent {
        /// A payload as a JSON object: the app's own, or a push's.
        ///
        /// - Parameter userInfo: from a notification's content, or `didReceiveRemoteNotification`.
        /// - Returns: UTF-8; an empty object for a value that is not JSON.
        public static func info(_ userInfo: [AnyHashable: Any]) -> [UInt8] { json(userInfo) }
    }

    extension UNNotificationContent {
        static func make(_ content: NotificationContent) -> UNNotificationContent {
            let made = UNMutableNotificationContent()
            made.title = content.title
            made.subtitle = content.subtitle
            made.body = content.body
            made.badge = content.badge.map { NSNumber(value: $0) }
            if content.sound {
                made.sound =
                    content.soundName.map {
                        UNNotificationSound(named: UNNotificationSoundName($0))
                    } ?? .default
            }
            made.threadIdentifier = content.thread
            made.categoryIdentifier = content.category
            if let level = content.interruption?.level { made.interruptionLevel = level }
            if let relevance = content.relevance { made.relevanceScore = relevance }
            // As a text, because a property list has no null.
            made.userInfo = [NotificationContent.key: String(decoding: content.info, as: UTF8.self)]
            return made
        }
    }

    extension UNNotificationRequest {
        /// - Throws: ``RepriseCore/RepriseError`` `.refused` for an interval with which the system
        ///   would end the process.
        ///
        /// - Parameters:
        ///   - request: the request.
        ///   - picture: the picture of the sender, a PNG or JPEG file.
        convenience init(_ request: NotificationRequest, picture: [UInt8]?) throws {
            let trigger: UNNotificationTrigger?
            switch request.trigger {
            case .after(let seconds, let repeats):
                guard seconds >= (repeats ? 60 : 0), seconds > 0 else {
                    throw RepriseError(.refused, "An interval of \(seconds) s is too short.")
                }
                trigger = UNTimeIntervalNotificationTrigger(
                    timeInterval: seconds, repeats: repeats)
            case .calendar(let components, let repeats):
                trigger = UNCalendarNotificationTrigger(
                    dateMatching: components, repeats: repeats)
            case nil: trigger = nil
            }
            self.init(
                identifier: request.id,
                content: .make(request.content).communicating(request.content, picture),
                trigger: trigger)
        }
    }

    extension DeliveredNotification {
        init(_ notification: UNNotification) {
            let since = notification.date.timeIntervalSince1970
            self.init(
                request: NotificationRequest(notification.request),
                date: WallTime(milliseconds: Int64((since * 1_000).rounded())),
                isRemote: notification.request.trigger is UNPushNotificationTrigger)
        }
    }

    extension NotificationResponse {
        /// Takes a person's response as the system reports it, to the delegate and in a scene's
        /// connection options.
        ///
        /// - Parameter response: the system's response.
        public init(_ response: UNNotificationResponse) {
            let action: Action =
                switch response.actionIdentifier {
                case UNNotificationDefaultActionIdentifier: .open
                case UNNotificationDismissActionIdentifier: .dismiss
                case let name:
                    (response as? UNTextInputNotificationResponse)
                        .map { .text(name, answer: $0.userText) } ?? .button(name)
                }
            self.init(
                notification: DeliveredNotification(response.notification), action: action)
        }
    }

    extension UNNotificationCategory {
        convenience init(_ category: NotificationCategory) {
            let actions = category.actions.map { action -> UNNotificationAction in
                let options: UNNotificationActionOptions = action.opensApp ? [.foreground] : []
                return action.asksForText
                    ? UNTextInputNotificationAction(
                        identifier: action.id, title: action.title, options: options)
                    : UNNotificationAction(
                        identifier: action.id, title: action.title, options: options)
            }
            self.init(
                identifier: category.id, actions: actions, intentIdentifiers: [],
                options: category.reportsDismissal ? [.customDismissAction] : [])
        }
    }

    extension UNNotificationPresentationOptions {
        init(_ options: PresentationOptions) {
            self = []
            if options.contains(.banner) { insert(.banner) }
            if options.contains(.list) { insert(.list) }
            if options.contains(.sound) { insert(.sound) }
            if options.contains(.badge) { insert(.badge) }
        }
    }
#endif
