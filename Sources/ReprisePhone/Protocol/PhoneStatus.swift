public import RepriseCore

/// How a phone is at one moment.
public struct PhoneStatus: Hashable, Sendable, Codable {
    /// What an app's process does.
    public enum AppState: String, Hashable, Sendable, Codable, CaseIterable {
        /// It has none.
        case notRunning
        /// It was started and has not connected yet.
        case launching
        /// The user sees it.
        case foreground
        /// It runs for a while and is not seen.
        case background
        /// It is there and runs no code.
        case suspended
    }

    /// One app.
    public struct App: Hashable, Sendable, Codable, Identifiable {
        /// Its name on the phone.
        public var id: String
        /// What its process does.
        public var state: AppState
        /// Its process.
        public var process: Int32?
        /// How long it may still run in the background.
        public var remainingMilliseconds: Int64?
        /// Whether the user has thrown it out: no background launch until it is opened.
        public var isForceQuit: Bool
        /// What the user allows.
        public var settings: NotificationSettings
        /// The number on its icon.
        public var badge: Int
        /// What has not fired, soonest first.
        public var pending: [NotificationRequest]
        /// What stands in the notification centre, newest first.
        public var delivered: [DeliveredNotification]
        /// What it has asked of the background scheduler.
        public var tasks: [BackgroundRequest]
        /// What it has handed over to be transferred, and not forgotten.
        public var transfers: [Transfer]
        /// Where its data is, which outlives its processes.
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
    /// Power, the price of the network, room on the disk.
    public var device: PhoneDevice
    /// What it does where Apple's documentation leaves something open.
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
    /// Each request waits, and the bytes come no faster than this.
    case slow(latencyMilliseconds: Int, bytesPerSecond: Int?)
}
