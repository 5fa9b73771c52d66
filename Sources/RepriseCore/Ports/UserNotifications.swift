/// The system's notification centre for one app, shaped after `UNUserNotificationCenter`.
///
/// It outlives the app: an added request fires although the app is dead.
///
/// - SeeAlso: `UserNotifications` in Apple's documentation; `docs/phone.md` has the rules and their
///   sources.
public protocol UserNotifications: Sendable {
    /// The person's current settings (`getNotificationSettings`).
    func settings() async throws -> NotificationSettings

    /// Asks the person the first time; then returns the same answer (`requestAuthorization`).
    ///
    /// - Parameter provisional: does not ask, and delivers quietly
    ///   (`UNAuthorizationOptions.provisional`).
    /// - Returns: whether it is allowed.
    /// - Throws: ``RepriseError`` `.unreachable`.
    func requestAuthorization(provisional: Bool) async throws -> Bool

    /// Adds a request, or replaces the one of the same id (`add(_:)`).
    ///
    /// - Throws: ``RepriseError`` `.refused` with the system's reason (a trigger that never fires,
    ///   an interval too short), `.unreachable`.
    func add(_ request: NotificationRequest) async throws

    /// The requests that have not fired (`getPendingNotificationRequests`).
    func pending() async throws -> [NotificationRequest]

    /// The notifications in the notification centre (`getDeliveredNotifications`).
    func delivered() async throws -> [DeliveredNotification]

    /// Removes pending requests; unknown ids are ignored.
    func removePending(_ ids: [String]) async throws

    /// Removes notifications from the notification centre; unknown ids are ignored.
    func removeDelivered(_ ids: [String]) async throws

    /// Sets the number on the icon (`setBadgeCount`); 0 removes it.
    func setBadge(_ count: Int) async throws

    /// Replaces the categories that the last call has set (`setNotificationCategories`); those of
    /// others stay.
    func setCategories(_ categories: [NotificationCategory]) async throws
}

/// The app's callbacks for notifications, shaped after `UNUserNotificationCenterDelegate`.
public protocol NotificationHandler: Sendable {
    /// How to show a notification that arrives while the app is in the foreground (`willPresent`).
    func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions

    /// A person responded to a notification (`didReceive`).
    ///
    /// Returns when it is recorded; only then the platform calls the system's completion handler.
    /// The same response may also arrive in a scene's connection options, with the same
    /// ``NotificationResponse/tapID``.
    ///
    /// - Throws: if it could not be recorded; the system's completion handler is still called,
    ///   because the system never asks again.
    func received(_ response: NotificationResponse) async throws

    /// A push arrived that wakes the app (`didReceiveRemoteNotification`), with or without showing
    /// a notification.
    ///
    /// - Parameter info: the payload, a JSON object as UTF-8.
    func receivedPush(_ info: [UInt8]) async
}
