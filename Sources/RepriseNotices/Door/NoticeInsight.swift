public import RepriseCore

/// The figure at the app's icon.
public struct IconBadge: Hashable, Sendable {
    /// What the icon shows, or would if the person allowed it.
    public internal(set) var count: Int64
    /// What is unread in all channels by the journal.
    public internal(set) var total: Int64
    /// When the server counted, by its clock, if ``count`` is its own: a push has told of messages
    /// that the journal does not have yet.
    public internal(set) var asOf: WallTime?

    /// Nothing unread.
    public init() {
        count = 0
        total = 0
    }
}

/// Every number of the door, for a debug view; counters begin with its running.
public struct NoticeInsight: Hashable, Sendable {
    /// Whether it runs.
    public internal(set) var isRunning = false
    /// What the person allows; nil: the system was not asked yet.
    public internal(set) var permission: NotificationSettings.Authorization?
    /// The figure at the icon.
    public internal(set) var badge = IconBadge()
    /// How many notices stand in the notification centre.
    public internal(set) var standing = 0
    /// What went wrong the last time; nil: nothing.
    public internal(set) var fault: String?
    /// What was done.
    public internal(set) var tally = NoticeTally()

    init() {}
}

/// What the door has counted.
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

    /// Nothing counted.
    public init() {}
}
