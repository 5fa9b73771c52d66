package import RepriseCore
import RepriseJournal

extension LimitTable {
    /// Printed into `docs/limits/device.md`.
    package static let client: Self = LimitTable(
        "device", "The client",
        "",
        [
            Limit(
                "client.early", "taps and events that came before the journal was open",
                "\(JournalLimits.spoolFiles)", "`.full`"),
            Limit(
                "client.wake",
                """
                all that the client does when the system has woken the app for a push, for a \
                person's answer to a notification; for ended transfers
                """,
                "\(WakeTime.limit); \(ClientLimits.transfersEnded)",
                "the system is told that it is done; the rest is done when the app runs next"),
            Limit(
                "client.reopen", "waits between attempts to open the journal",
                "\(ClientLimits.reopen.base), doubling to \(ClientLimits.reopen.longest)",
                "`.waiting`; the foreground ends the wait"),
            Limit(
                "client.rerun", "waits before a feature that has failed runs again",
                """
                \(ClientLimits.rerun.base), doubling to \(ClientLimits.rerun.longest), with full \
                jitter
                """, "–"),
            Limit(
                "client.reread", "unreadable messages of a reader that an update tries again",
                "\(ClientLimits.reread)", "the others stay dead letters"),
            Limit(
                "client.unfollowed", "unread messages of conversations that are not followed",
                "counted by the server every \(ClientLimits.unfollowedCounts)",
                "the list and the badge are as old; a push brings its count at once"),
            Limit(
                "client.timeline", "entries, and log lines, in an exported timeline",
                "\(ClientLimits.timelineEntries), and \(ClientLimits.recentLines)",
                "the newest"),
        ])
}

/// Limits of a client.
enum ClientLimits {
    /// How long a client may take after transfers have ended: before that, the end of their events
    /// is waited for.
    static let transfersEnded = WakeTime.limit - .seconds(5)
    /// The waits between attempts to open a journal.
    static let reopen = Backoff(base: .milliseconds(500), longest: .seconds(10))
    /// The waits before a feature runs again.
    static let rerun = Backoff(base: .milliseconds(500), longest: .seconds(60))
    /// The most unreadable messages of a reader that are tried again at a launch.
    static let reread = 1_000
    /// The newest lines of the log that are kept in memory for a timeline.
    static let recentLines = 2_000
    /// How often the server counts what is unread in conversations that are not followed.
    static let unfollowedCounts: Duration = .seconds(60)
    /// The newest entries in a timeline.
    static let timelineEntries = 10_000
}
