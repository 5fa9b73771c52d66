public import Foundation

/// When a local notification fires, shaped after `UNNotificationTrigger` and its kinds.
public enum NotificationTrigger: Hashable, Sendable, Codable {
    /// So long after it was added (`UNTimeIntervalNotificationTrigger`); a repeating one waits at
    /// least 60 seconds.
    case after(seconds: Double, repeats: Bool)
    /// When the calendar matches these components (`UNCalendarNotificationTrigger`), in the
    /// device's time zone if they name none, and in the calendar that the person has set if they
    /// name none: a request with a year names its calendar.
    case calendar(DateComponents, repeats: Bool)
}
