public import RepriseCore

/// How a phone is at one moment.
public struct PhoneStatus: Hashable, Sendable, Codable {
    /// The state of an app's process.
    public enum AppState: String, Hashable, Sendable, Codable, CaseIterable {
        /// It has none.
        case notRunning
        /// It was started and has not connected yet.
        case launching
        /// The user sees it.
        case foreground
        /// It runs for a while, without being visible.
        case background
        /// It is in memory, and runs no code.
        case suspended
    }

    /// One app.
    public struct App: Hashable, Sendable, Codable, Identifiable {
        /// Its name on the phone.
        public var id: String
        /// The state of its process.
        public var state: AppState
        /// Its process.
        public var process: Int32?
        /// How long it may still run in the background.
        public var remainingMilliseconds: Int64?
        /// Whether the user has force-quit it: no background launch until it is opened.
        public var isForceQuit: Bool
        /// Its notification settings.
        public var settings: NotificationSettings
        /// The number on its icon.
        public var badge: Int
        /// Its pending notifications, soonest first.
        public var pending: [NotificationRequest]
        /// Its delivered notifications, newest first.
        public var delivered: [DeliveredNotification]
        /// Its requests to the background scheduler.
        public var tasks: [BackgroundRequest]
        /// Its transfers, until it forgets them.
        public var transfers: [Transfer]
        /// Its data folder, which outlives its processes.
        public var folder: String
    }

    /// The phone's process.
    public var process: Int32
    /// The calendar.
    public var now: WallTime
    /// The time zone.
    public var zone: String
    /// The network.
    public var network: PhoneNetwork
    /// Power, metering, free disk space.
    public var device: PhoneDevice
    /// Its rules where Apple's documentation leaves something open.
    public var rules: PhoneRules
    /// The apps, by id.
    public var apps: [App]
    /// The number of the newest event; 0 before the first.
    public var lastEvent: Int
}

/// The network of a phone.
public enum PhoneNetwork: Hashable, Sendable, Codable {
    /// None.
    case off
    /// As fast as the machine.
    case on
    /// Each request is delayed, and the bytes come no faster than this.
    case slow(latencyMilliseconds: Int, bytesPerSecond: Int?)
}
