/// Limits of the reminders feature; `docs/limits/reminders.md` lists each with its effect.
public enum ReminderEngineLimits {
    /// The most requests that the system keeps for one app; it drops the rest silently.
    public static let system = 64
    /// The most snoozes, skips and tests that are kept.
    public static let marks = 1_000
    /// The longest snooze, in seconds: 30 days.
    public static let snoozeSeconds: Int64 = 2_592_000
    /// How long a skip is kept after its day, and a snooze after it has rung, in seconds: 7 days,
    /// by which the calendar may be set back.
    public static let skipSeconds: Int64 = 604_800
    /// The most decisions that are kept.
    public static let decisions = 2_000
    /// The most entities that one change names; one that names more is a change of everything.
    public static let changed = 1_000
    /// The most abandoned calls of the app's store, or of the system, that have not returned.
    public static let abandoned = 4
    /// The shortest time ahead for which a background refresh is asked, in seconds.
    public static let refreshSeconds: Int64 = 900
    /// How long after its time a request that the system has not rung yet is left alone, in
    /// seconds.
    public static let ringingSeconds: Int64 = 60
    /// The most delivered notifications of unplanned entities that one reconciliation looks up.
    public static let lookUps = 256
    /// The most actions, and deleted entities, that a ``DatabaseReminderStore`` keeps.
    public static let stored = 10_000
    /// The most background slots that wait for a reconciliation.
    public static let slots = 8
}
