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
    /// What was ordered to be killed and has not been seen dead: killed at the next start, if it is
    /// still the same process.
    package var condemned: [ProcessIdentity] = []
    package var extensions: [Int: ExtensionRun] = [:]
    /// Of apps that were taken away, where the rules keep them.
    package var badges: [String: Int] = [:]

    package init() {}
}

/// A process, such that another of the same number is not taken for it.
package struct ProcessIdentity: Hashable, Sendable, Codable {
    package var id: Int32
    /// When the system started it, as the system says it.
    package var started: String

    package init(id: Int32, started: String) {
        self.id = id
        self.started = started
    }
}

/// What the system holds for one app.
package struct AppRecord: Hashable, Sendable, Codable {
    package var spec: PhoneAppSpec
    package var isForceQuit = false
    package var settings = NotificationSettings(authorization: .notDetermined)
    /// What the user will answer when asked for permission.
    package var willAllow = true
    package var pending: [PendingNotification] = []
    /// Oldest first.
    package var delivered: [DeliveredNotification] = []
    package var badge = 0
    package var categories: [NotificationCategory] = []
    package var tasks: [BackgroundRequest] = []
    /// What the tasks that run now had asked for.
    package var granted: [String: BackgroundRequest.Kind] = [:]
    /// Oldest first; those that are done until the app forgets them.
    package var transfers: [TransferRecord] = []
    /// Pushes that wait for the network or for room in the budget.
    package var inbox = PushInbox()
    /// Responses that were handed to the app and not completed, where the rules repeat them.
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
    /// What waits until it has connected.
    package var held: [AppOrder] = []
    /// What it was told and has not done, by number.
    package var orders: [Int: AppOrder] = [:]
    /// Until when an answer about a notification is awaited, by the order's number.
    package var presentations: [Int: Int64] = [:]
    package var slots: [Slot] = []

    package init(life: Int, launch: PhoneLaunch, phase: Phase) {
        self.life = life
        self.launch = launch
        self.phase = phase
    }
}

/// A push that a service extension is at work on.
package struct ExtensionRun: Hashable, Sendable, Codable {
    package var app: String
    package var push: PhonePush
    package var until: Int64
    /// It was told that its time is nearly over.
    package var isWarned = false
}

extension NotificationSettings {
    /// Whether anything is shown at all.
    var isAllowed: Bool {
        switch authorization {
        case .authorized, .provisional: true
        case .notDetermined, .denied: false
        }
    }
}
