/// The content of a notification, shaped after `UNMutableNotificationContent`.
public struct NotificationContent: Hashable, Sendable, Codable {
    /// The interruption level, shaped after `UNNotificationInterruptionLevel`.
    public enum Interruption: String, Hashable, Sendable, Codable, CaseIterable {
        /// Into the list alone: the screen stays dark and no sound plays.
        case passive
        /// As the person has set it.
        case active
        /// Breaks through Focus, where the app may.
        case timeSensitive = "time-sensitive"
        /// Always, where the app may.
        case critical
    }

    /// The first line.
    public var title = ""
    /// Below the title.
    public var subtitle = ""
    /// The text.
    public var body = ""
    /// The number on the app's icon from now on; 0 removes it, nil leaves it.
    public var badge: Int?
    /// Whether it plays a sound.
    public var sound = false
    /// The sound's file in the app; nil, or one that is not there: the system's default.
    public var soundName: String?
    /// The interruption level; nil: the system's default, ``Interruption/active``.
    public var interruption: Interruption?
    /// The place in the system's summary, 0 to 1; nil: the system's default (`relevanceScore`).
    public var relevance: Double?
    /// Whose message it is; nil: not a communication notification.
    public var conversation: NotificationConversation?
    /// Notifications of one thread are shown as a group (`threadIdentifier`).
    public var thread = ""
    /// Names a ``NotificationCategory`` and so its actions; empty for none.
    public var category = ""
    /// The app's own data, a JSON object as UTF-8 (`userInfo`); at most 4,096 bytes in a push.
    public var info: [UInt8] = Array("{}".utf8)

    /// Content to fill in.
    ///
    /// - Parameters:
    ///   - title: the first line.
    ///   - body: the text.
    ///   - info: a JSON object as UTF-8.
    public init(title: String = "", body: String = "", info: [UInt8] = Array("{}".utf8)) {
        self.title = title
        self.body = body
        self.info = info
    }
}
