public import RepriseCore

/// Where the door for reminders stands.
public enum ReminderState: Hashable, Sendable {
    /// It does not run.
    case idle
    /// The app's store is being loaded; taps wait.
    case loading
    /// What should ring is compared with what the system has, for the first time.
    case surveying
    /// The person allows no notifications, or was not asked: nothing rings. Taps are handed over.
    case notPermitted
    /// Reminders come quietly, into the list alone (`provisional`).
    case quiet
    /// Reminders ring.
    case ready
}

/// Every number of the door, for a debug view; counters begin with its running.
public struct ReminderInsight: Hashable, Sendable {
    /// Where it stands.
    public internal(set) var state = ReminderState.idle
    /// What the person allows; nil: the system was not asked yet.
    public internal(set) var permission: NotificationSettings.Authorization?
    /// Entities that are reminded of.
    public internal(set) var entities = 0
    /// Their reminders.
    public internal(set) var reminders = 0
    /// What should be pending.
    public internal(set) var planned = 0
    /// What of it is.
    public internal(set) var pending = 0
    /// What of it the system would not take, by the request's id, with the reason.
    public internal(set) var refused: [String: String] = [:]
    /// Requests of the app's own that take places of the system's 64.
    public internal(set) var foreign = 0
    /// Until then everything rings that should, without the app being opened; nil: for ever, or
    /// nothing rings at all.
    public internal(set) var guaranteedUntil: WallTime?
    /// Reminders that make no sense, as `entity/reminder`, with what is wrong; the others are
    /// planned.
    public internal(set) var invalid: [String: String] = [:]
    /// When the system was compared with the plan the last time, and why.
    public internal(set) var surveyed: WallTime?
    /// Why then.
    public internal(set) var cause: SurveyCause?
    /// For when time in the background was asked for; nil: for no time.
    public internal(set) var refreshAt: WallTime?
    /// What went wrong the last time; nil: nothing.
    public internal(set) var fault: String?
    /// Why no time in the background could be asked for; nil: it could.
    public internal(set) var refreshFault: String?
    /// What was done.
    public internal(set) var tally = ReminderTally()

    /// Nothing known.
    package init() {}
}

/// What the door has counted.
public struct ReminderTally: Hashable, Sendable {
    /// Comparisons that came to their end.
    public internal(set) var surveys = 0
    /// Comparisons that did not, and were tried again.
    public internal(set) var failures = 0
    /// How often the app's store could not be loaded.
    public internal(set) var loadFailures = 0
    /// Requests that were added.
    public internal(set) var added = 0
    /// Requests that were replaced, because they were not right any more.
    public internal(set) var replaced = 0
    /// Requests that were taken back.
    public internal(set) var removed = 0
    /// Notifications that were taken out of the notification centre.
    public internal(set) var removedDelivered = 0
    /// Requests that the system would not take.
    public internal(set) var refused = 0
    /// How often something was written down.
    public internal(set) var writes = 0

    /// Nothing counted.
    public init() {}
}
