/// The system's notification centre for one app, shaped after `UNUserNotificationCenter`.
///
/// It outlives the app: what is added fires although the app is dead.
///
/// - SeeAlso: `UserNotifications` in Apple's documentation; `docs/phone.md` has the rules and their
///   sources.
public protocol UserNotifications: Sendable {
    /// What the person allows now (`getNotificationSettings`).
    func settings() async throws -> NotificationSettings

    /// Asks the person, the first time; then answers as before (`requestAuthorization`).
    ///
    /// - Parameter provisional: asks nobody, and delivers quietly
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

    /// What stands in the notification centre (`getDeliveredNotifications`).
    func delivered() async throws -> [DeliveredNotification]

    /// Takes requests back; unknown ids are passed over.
    func removePending(_ ids: [String]) async throws

    /// Takes notifications out of the notification centre; unknown ids are passed over.
    func removeDelivered(_ ids: [String]) async throws

    /// Sets the number on the icon (`setBadgeCount`); 0 removes it.
    func setBadge(_ count: Int) async throws

    /// Replaces the categories (`setNotificationCategories`).
    func setCategories(_ categories: [NotificationCategory]) async throws
}

/// What the system asks of an app about notifications, shaped after
/// `UNUserNotificationCenterDelegate`.
public protocol NotificationHandler: Sendable {
    /// How to show what has arrived while the app is in the foreground (`willPresent`).
    func willPresent(_ notification: DeliveredNotification) async -> PresentationOptions

    /// A person did something with a notification (`didReceive`).
    ///
    /// Returns when it is recorded, and only then the platform calls the system's completion
    /// handler. The same response may come through a scene's connection options too:
    /// ``NotificationResponse/tapID`` is then the same.
    ///
    /// - Throws: if it could not be recorded; the system's completion handler is called all the
    ///   same, because it never asks again.
    func received(_ response: NotificationResponse) async throws

    /// A push came that wakes the app without showing anything (`didReceiveRemoteNotification`), or
    /// with it.
    ///
    /// - Parameter info: the payload, a JSON object as UTF-8.
    func receivedPush(_ info: [UInt8]) async
}
