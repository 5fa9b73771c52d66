public import RepriseCore

/// State of the reminders feature.
public enum ReminderState: Hashable, Sendable {
    /// It does not run.
    case idle
    /// The app's store is being loaded; taps wait.
    case loading
    /// The first comparison of the plan with the system is under way.
    case reconciling
    /// Notifications are denied, or permission was not requested: nothing rings. Taps are
    /// dispatched.
    case notPermitted
    /// Reminders appear in the list without sound or banner (`provisional`).
    case quiet
    /// Reminders ring.
    case ready
}

/// Figures of the reminders feature, for a debug view; counters begin when it runs.
public struct ReminderDiagnostics: Hashable, Sendable {
    /// The current state.
    public internal(set) var state = ReminderState.idle
    /// The notification permission; nil: not read from the system yet.
    public internal(set) var permission: NotificationSettings.Authorization?
    /// Entities that are reminded of.
    public internal(set) var entities = 0
    /// Their reminders.
    public internal(set) var reminders = 0
    /// Planned notifications.
    public internal(set) var planned = 0
    /// Planned notifications that are pending.
    public internal(set) var pending = 0
    /// Planned notifications that the system refused, by request id, with the reason.
    public internal(set) var refused: [String: String] = [:]
    /// Requests of the app's own that take places of the system's 64.
    public internal(set) var foreign = 0
    /// Until this moment everything rings on time even if the app is never opened; nil: for ever,
    /// or nothing rings.
    public internal(set) var guaranteedUntil: WallTime?
    /// Invalid reminders as `entity/reminder`, with the reason; the others are planned.
    public internal(set) var invalid: [String: String] = [:]
    /// When the system was compared with the plan the last time, and why.
    public internal(set) var reconciledAt: WallTime?
    /// Why then.
    public internal(set) var cause: ReconciliationCause?
    /// For when time in the background was asked for; nil: for no time.
    public internal(set) var refreshAt: WallTime?
    /// The last fault; nil: none.
    public internal(set) var fault: String?
    /// Why no time in the background could be asked for; nil: it could.
    public internal(set) var refreshFault: String?
    /// Counters of its work.
    public internal(set) var tally = ReminderTally()

    /// Nothing known yet.
    package init() {}
}

/// Counters of the reminders feature.
public struct ReminderTally: Hashable, Sendable {
    /// Comparisons that came to their end.
    public internal(set) var reconciliations = 0
    /// Comparisons that did not, and were tried again.
    public internal(set) var failures = 0
    /// How often the app's store could not be loaded.
    public internal(set) var loadFailures = 0
    /// Requests that were added.
    public internal(set) var added = 0
    /// Requests that were replaced, because they were not right any more.
    public internal(set) var replaced = 0
    /// Removed requests.
    public internal(set) var removed = 0
    /// Notifications that were taken out of the notification centre.
    public internal(set) var removedDelivered = 0
    /// Requests that the system would not take.
    public internal(set) var refused = 0
    /// How often something was written down.
    public internal(set) var writes = 0

    /// All counters at zero.
    public init() {}
}
