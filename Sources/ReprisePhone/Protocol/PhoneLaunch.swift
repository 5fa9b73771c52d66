public import RepriseCore

/// Why a process was launched.
public struct PhoneLaunch: Hashable, Sendable, Codable {
    /// The reason of a launch.
    public enum Reason: Hashable, Sendable, Codable {
        /// The user has opened the app.
        case user
        /// The user has done something with a notification.
        case response
        /// Time in the background for a task.
        case task(String)
        /// A push that wakes the app.
        case push
        /// All of its transfers are done.
        case transfers
    }

    /// The reason.
    public var reason: Reason
    /// Whether it enters the foreground (else no scene connects).
    public var isForeground: Bool
    /// The tap that launched the app, if the scene's connection options carry it.
    ///
    /// Like `UIScene.ConnectionOptions.notificationResponse`. The delegate may get it too: both
    /// have the same ``RepriseCore/NotificationResponse/tapID``.
    public var response: NotificationResponse?
    /// Whether the system restores the scene of an earlier process: then it connects without
    /// `configurationForConnecting`, and its options come to `scene(_:willConnectTo:)` alone.
    public var isSceneRestored = false

    /// The tap in the options of `configurationForConnecting`, which is not called for a restored
    /// scene.
    public var configurationResponse: NotificationResponse? { isSceneRestored ? nil : response }
}
