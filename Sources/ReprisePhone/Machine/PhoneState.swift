package import RepriseCore

/// Everything a phone remembers: one file on its disk.
package struct PhoneState: Hashable, Sendable, Codable {
    package var apps: [String: AppRecord] = [:]
    package var network = PhoneNetwork.on
    package var clock = PhoneClock()
    package var device = PhoneDevice()
    package var rules = PhoneRules()
    /// The number of the newest process that was ever launched; of the newest order, slot and run
    /// of an extension.
    package var lastLife = 0
    package var lastOrder = 0
    /// Killed processes whose end is not confirmed: killed at the next start, if the identity
    /// matches.
    package var condemned: [ProcessIdentity] = []
    package var extensions: [Int: ExtensionRun] = [:]
    /// Of apps that were taken away, where the rules keep them.
    package var badges: [String: Int] = [:]

    package init() {}
}

/// A process, such that another of the same number is not taken for it.
package struct ProcessIdentity: Hashable, Sendable, Codable {
    package var id: Int32
    /// The system's start time of it.
    package var started: String

    package init(id: Int32, started: String) {
        self.id = id
        self.started = started
    }
}

/// The system's data of one app.
package struct AppRecord: Hashable, Sendable, Codable {
    package var spec: PhoneAppSpec
    package var isForceQuit = false
    package var settings = NotificationSettings(authorization: .notDetermined)
    /// The user's answer to the next permission prompt.
    package var willAllow = true
    package var pending: [PendingNotification] = []
    /// Oldest first.
    package var delivered: [DeliveredNotification] = []
    package var badge = 0
    package var categories: [NotificationCategory] = []
    package var tasks: [BackgroundRequest] = []
    /// The requests of running tasks.
    package var granted: [String: BackgroundRequest.Kind] = [:]
    /// Oldest first; those that are done until the app forgets them.
    package var transfers: [TransferRecord] = []
    /// Pushes that wait for the network or for the budget.
    package var inbox = PushInbox()
    /// Responses that the app has not completed, where the rules repeat them.
    package var uncompleted: [NotificationResponse] = []
    package var process: ProcessRecord?
}

/// A local notification that has not fired.
package struct PendingNotification: Hashable, Sendable, Codable {
    package var request: NotificationRequest
    package var due: TriggerTime
    /// Counts up with every adding.
    package var added: Int
}

/// A launched process.
package struct ProcessRecord: Hashable, Sendable, Codable {
    package enum Phase: Hashable, Sendable, Codable {
        case launching(until: Int64)
        case foreground
        case background(until: Int64)
        case suspended(wasForeground: Bool)
    }

    /// Time that was given for a task.
    package struct Slot: Hashable, Sendable, Codable {
        package var number: Int
        package var task: String
        package var until: Int64
        package var isExpired = false
    }

    /// Which launch of the phone this is: no two have the same.
    package var life: Int
    package var launch: PhoneLaunch
    package var phase: Phase
    /// Nil until it was spawned.
    package var identity: ProcessIdentity?
    /// Orders that wait until it has connected.
    package var held: [AppOrder] = []
    /// Unacknowledged orders, by number.
    package var orders: [Int: AppOrder] = [:]
    /// Until when an answer about a notification is awaited, by the order's number.
    package var presentations: [Int: Int64] = [:]
    package var slots: [Slot] = []
}

/// A push that a service extension is at work on.
package struct ExtensionRun: Hashable, Sendable, Codable {
    package var app: String
    package var push: PhonePush
    package var until: Int64
    /// It was warned that its time is nearly over.
    package var isWarned = false
}

extension NotificationSettings {
    /// Whether any notification may be shown.
    var isAllowed: Bool {
        switch authorization {
        case .authorized, .provisional: true
        case .notDetermined, .denied: false
        }
    }
}
