/// A request to show a notification, shaped after `UNNotificationRequest`.
public struct NotificationRequest: Hashable, Sendable, Codable, Identifiable {
    /// The app's name for it; adding another of this name replaces it, even if it is already shown.
    public var id: String
    /// Title, text, sound, badge, and the payload that a tap brings back.
    public var content: NotificationContent
    /// The trigger; nil: at once, or a remote notification.
    public var trigger: NotificationTrigger?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - id: the app's name for it.
    ///   - content: the content.
    ///   - trigger: the trigger; nil: at once.
    public init(id: String, content: NotificationContent, trigger: NotificationTrigger? = nil) {
        self.id = id
        self.content = content
        self.trigger = trigger
    }
}

/// A notification that was shown or is about to be, shaped after `UNNotification`.
public struct DeliveredNotification: Hashable, Sendable, Codable {
    /// The request, or what a push carried, as the system keeps it.
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

/// A person's response to a notification, shaped after `UNNotificationResponse`.
public struct NotificationResponse: Hashable, Sendable, Codable {
    /// The chosen action.
    public enum Action: Hashable, Sendable, Codable {
        /// The notification itself was tapped (`UNNotificationDefaultActionIdentifier`).
        case open
        /// It was dismissed (`UNNotificationDismissActionIdentifier`); sent only for a category
        /// that requests it.
        case dismiss
        /// An action of its category.
        case button(String)
        /// An action with text input (`UNTextInputNotificationResponse`).
        case text(String, answer: String)
    }

    /// The notification that the person responded to.
    public var notification: DeliveredNotification
    /// The chosen action.
    public var action: Action

    /// Makes a response, as a platform or a test does.
    public init(notification: DeliveredNotification, action: Action = .open) {
        self.notification = notification
        self.action = action
    }

    /// The identity that makes one entry of the same tap arriving through two entry points of the
    /// app.
    ///
    /// Request, delivery time and action: a notification that is shown again under its name can be
    /// tapped again.
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
