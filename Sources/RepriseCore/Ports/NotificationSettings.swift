/// A person's permissions, shaped after `UNNotificationSettings`.
public struct NotificationSettings: Hashable, Sendable, Codable {
    /// The authorization status, shaped after `UNAuthorizationStatus`.
    public enum Authorization: String, Hashable, Sendable, Codable, CaseIterable {
        /// Not requested yet.
        case notDetermined
        /// Not allowed.
        case denied
        /// Allowed.
        case authorized
        /// Allowed quietly: in the list alone, until the person decides.
        case provisional
    }

    /// The authorization status.
    public var authorization: Authorization
    /// Whether banners are allowed.
    public var alerts: Bool
    /// Whether the badge is allowed.
    public var badges: Bool
    /// Whether sounds are allowed.
    public var sounds: Bool

    /// Makes settings, as a platform or a test does.
    public init(
        authorization: Authorization, alerts: Bool = true, badges: Bool = true, sounds: Bool = true
    ) {
        self.authorization = authorization
        self.alerts = alerts
        self.badges = badges
        self.sounds = sounds
    }
}

/// How a notification is shown while the app is in the foreground, shaped after
/// `UNNotificationPresentationOptions`.
public struct PresentationOptions: OptionSet, Hashable, Sendable, Codable {
    /// The bits.
    public let rawValue: Int

    /// Takes bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// As a banner.
    public static let banner = Self(rawValue: 1)
    /// In the notification centre.
    public static let list = Self(rawValue: 2)
    /// With its sound.
    public static let sound = Self(rawValue: 4)
    /// With its badge.
    public static let badge = Self(rawValue: 8)
}

/// The actions of a kind of notification, shaped after `UNNotificationCategory`.
public struct NotificationCategory: Hashable, Sendable, Codable, Identifiable {
    /// One button, shaped after `UNNotificationAction`.
    public struct Action: Hashable, Sendable, Codable, Identifiable {
        /// The app's name for it.
        public var id: String
        /// Its label.
        public var title: String
        /// Whether it brings the app to the foreground; otherwise the app runs briefly in the
        /// background.
        public var opensApp: Bool
        /// Whether it has text input (`UNTextInputNotificationAction`).
        public var asksForText: Bool

        /// Makes an action.
        public init(id: String, title: String, opensApp: Bool = false, asksForText: Bool = false) {
            self.id = id
            self.title = title
            self.opensApp = opensApp
            self.asksForText = asksForText
        }
    }

    /// The app's name for it, as in ``NotificationContent/category``.
    public var id: String
    /// The buttons.
    public var actions: [Action]
    /// Whether the app is told of a dismissal (`customDismissAction`).
    public var reportsDismissal: Bool

    /// Makes a category.
    public init(id: String, actions: [Action] = [], reportsDismissal: Bool = false) {
        self.id = id
        self.actions = actions
        self.reportsDismissal = reportsDismissal
    }
}
