public import RepriseCore

/// The figure at the app's icon.
public struct IconBadge: Hashable, Sendable {
    /// The icon's figure, or what it would be with permission.
    public internal(set) var count: Int64
    /// The journal's unread messages of all channels.
    public internal(set) var total: Int64
    /// The server's time of ``count``, if it is the server's: a push has announced messages that
    /// the journal does not have yet.
    public internal(set) var asOf: WallTime?

    /// Nothing unread.
    public init() {
        count = 0
        total = 0
    }
}

/// Figures of the notices feature, for a debug view; counters begin when it runs.
public struct NoticeDiagnostics: Hashable, Sendable {
    /// Whether it runs.
    public internal(set) var isRunning = false
    /// The notification permission; nil: not read from the system yet.
    public internal(set) var permission: NotificationSettings.Authorization?
    /// The figure at the icon.
    public internal(set) var badge = IconBadge()
    /// The number of delivered notifications.
    public internal(set) var delivered = 0
    /// The last fault; nil: none.
    public internal(set) var fault: String?
    /// Counters of its work.
    public internal(set) var tally = NoticeTally()

    init() {}
}

/// Counters of the notices feature.
public struct NoticeTally: Hashable, Sendable {
    /// Notifications that the system was asked for.
    public internal(set) var shown = 0
    /// Of them, those that may have been shown by a process that has died:
    /// ``RepriseCore/LedgerSum`` would call them unconfirmed.
    public internal(set) var again = 0
    /// Messages of which a person was alerted a second time, by a push that raced.
    public internal(set) var secondAlerts = 0
    /// Messages that a push had shown while the process was stopped on its way to show them.
    public internal(set) var overtaken = 0
    /// Notifications that were taken out of the notification centre.
    public internal(set) var removed = 0
    /// Notifications that the system would not take.
    public internal(set) var refused = 0
    /// Messages that were counted and not looked at one by one, because too many came at once.
    public internal(set) var bulk: Int64 = 0
    /// How often the icon's figure was set without a notification.
    public internal(set) var badges = 0
    /// How often the mirror was replaced.
    public internal(set) var mirrors = 0
    /// How often something failed and was tried again.
    public internal(set) var failures = 0

    /// All counters at zero.
    public init() {}
}
