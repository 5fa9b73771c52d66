/// What an app asks the system to show, shaped after `UNNotificationRequest`.
public struct NotificationRequest: Hashable, Sendable, Codable, Identifiable {
    /// The app's name for it; adding another of this name replaces it, also if it is shown already.
    public var id: String
    /// What it shows.
    public var content: NotificationContent
    /// When; nil at once, or because it is a remote notification.
    public var trigger: NotificationTrigger?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - id: the app's name for it.
    ///   - content: what it shows.
    ///   - trigger: when; nil at once.
    public init(id: String, content: NotificationContent, trigger: NotificationTrigger? = nil) {
        self.id = id
        self.content = content
        self.trigger = trigger
    }
}

/// A notification that was shown or is about to be, shaped after `UNNotification`.
public struct DeliveredNotification: Hashable, Sendable, Codable {
    /// What was asked for.
    public var request: NotificationRequest
    /// When it was delivered, by the device's calendar.
    public var date: WallTime
    /// Whether it came as a push (`UNPushNotificationTrigger`).
    public var isRemote: Bool

    /// Makes a notification, as a platform or a test does.
    public init(request: NotificationRequest, date: WallTime, isRemote: Bool) {
        self.request = request
        self.date = date
        self.isRemote = isRemote
    }
}

/// What a person did with a notification, shaped after `UNNotificationResponse`.
public struct NotificationResponse: Hashable, Sendable, Codable {
    /// What was chosen.
    public enum Action: Hashable, Sendable, Codable {
        /// The notification itself was tapped (`UNNotificationDefaultActionIdentifier`).
        case open
        /// It was dismissed (`UNNotificationDismissActionIdentifier`); sent only for a category
        /// that asks for it.
        case dismiss
        /// An action of its category.
        case button(String)
        /// An action that asks for a text (`UNTextInputNotificationResponse`).
        case text(String, answer: String)
    }

    /// The notification.
    public var notification: DeliveredNotification
    /// What was chosen.
    public var action: Action

    /// Makes a response, as a platform or a test does.
    public init(notification: DeliveredNotification, action: Action = .open) {
        self.notification = notification
        self.action = action
    }

    /// The identity by which the same tap through two entrances of the app is one entry.
    ///
    /// Request, time of delivery and action: one that is shown again under its name can be tapped
    /// again.
    public var tapID: EntryID {
        let action =
            switch action {
            case .open: "open"
            case .dismiss: "dismiss"
            case .button(let name): "button:\(name)"
            case .text(let name, let answer): "text:\(name):\(answer)"
            }
        let text = "\(notification.request.id)\u{0}\(notification.date.milliseconds)\u{0}\(action)"
        return .hash(of: text, prefix: "tap-")
    }
}
