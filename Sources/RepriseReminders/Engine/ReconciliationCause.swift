/// The reason for a comparison of the plan with the system.
public enum ReconciliationCause: String, Hashable, Sendable, CaseIterable {
    /// The feature started.
    case start
    /// The app came to the foreground.
    case foreground
    /// The system gave time in the background.
    case refresh
    /// A notification was tapped.
    case tap
    /// An action of a notification was chosen.
    case action
    /// The app's store has changed.
    case change
    /// A snooze, a skip or a test was set or removed.
    case mark
    /// The calendar was set.
    case clock
    /// The device is in another time zone.
    case zone
    /// A reminder has rung.
    case rang
    /// An earlier comparison has failed.
    case again
    /// The app has asked.
    case asked
}
