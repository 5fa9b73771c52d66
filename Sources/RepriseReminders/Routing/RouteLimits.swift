/// Limits of routing; `docs/limits/reminders.md` lists each with its effect.
public enum RouteLimits {
    /// The most bytes of a payload that is read.
    public static let payloadBytes = 4_096
    /// How deep a payload that is read may nest.
    public static let payloadDepth = 16
    /// The most bytes of a sort of entity.
    public static let routeSort = 64
    /// The most bytes of an id, and of a part's.
    public static let routeID = 128
    /// The most bytes of an owner's name.
    public static let routeOwner = 256
    /// The most bytes of a deep link.
    public static let link = 4_000
    /// The most bytes of a text that was typed into a notification.
    public static let answer = 16_384
    /// The most readers, and the most rules for actions, that a configuration may have.
    public static let rules = 64
    /// The most taps, and the most actions, in flight at the same time, and so the most look-ups.
    public static let inFlight = 8
    /// How long one look-up delays the next, in milliseconds; then both run.
    public static let slowLookUpMilliseconds: Int64 = 100
    /// The most abandoned look-ups that have not returned.
    public static let abandonedLookUps = 64
    /// How long `received` waits for the effect of a button, in seconds; later effects follow at
    /// the next chance.
    public static let actionSeconds: Int64 = 10
    /// The most abandoned waits for effects of buttons that have not returned.
    public static let actionsLeft = 8
    /// How long the first reconciliation lets a waiting tap go first, in milliseconds.
    public static let firstTapMilliseconds: Int64 = 50
    /// How often an entity is looked up again because it has changed meanwhile.
    public static let lookUpsAgain = 3
    /// The shortest snooze of a rule, in seconds.
    public static let leastSnoozeSeconds: Int64 = 60
}
