/// Limits of the notices feature; `docs/limits/notices.md` lists each with its effect.
public enum NoticeLimits {
    /// The most channels with positions in the mirror; beyond, those that changed last.
    public static let mirrored = 500
    /// The most shown messages in the mirror; beyond, the newest.
    public static let mirroredShown = 200
    /// The most mutes of a person.
    public static let mutes = 1_000
    /// How long a service extension works on a push; the system ends it after about 30 s.
    public static let extensionBudget = Duration.seconds(20)
    /// The most records of its own that a service extension reads; beyond, the newest.
    public static let recordsRead = 256
    /// How long the server may take to answer about a setting.
    public static let serverTimeout = Duration.seconds(15)
    /// The most bytes of an answer about settings: of all mutes of a user.
    public static let answerBytes = 4_194_304
    /// The first wait after the server was not reached, of which a part is waited; it doubles.
    public static let firstWait = Duration.seconds(1)
    /// The longest wait after the server was not reached.
    public static let longestWait = Duration.seconds(300)
    /// How long signing out waits for the server to forget where the device is reached.
    public static let leaving = Duration.seconds(3)
    /// The most bytes of a push token.
    public static let pushTokenBytes = 2_048
    /// How many days the decision about a message is kept after its notification is gone.
    public static let keptDays: Int64 = 7
    /// The messages of one batch of a channel that are decided one by one; the rest is only
    /// counted.
    public static let looked = 200
    /// The most notices that are looked after when the app starts.
    public static let recovered = 1_000
    /// The most channels that are looked at in one transaction.
    public static let channelsAtOnce = 64
    /// How long messages of a catch-up wait for its end before they are shown.
    public static let catchUpTimeoutMilliseconds = 2_000
    /// How often, and in what pauses, it is looked whether a channel's title is there before the
    /// app is suspended: for one second.
    package static let titleLooks = 20
    package static let titleLook = Duration.milliseconds(50)
    /// The age up to which the system's list of delivered notifications is used; older, it is read
    /// again.
    public static let freshMilliseconds = 200
    /// The shortest time between two replacements of the mirror while the app is in the foreground.
    public static let mirrorMilliseconds = 1_000
    /// The most bytes of a banner's title, and of the line below it.
    public static let titleBytes = 256
    /// The most bytes of a banner's text.
    public static let bodyBytes = 1_024
    /// The most bytes of a payload that is read.
    public static let payloadBytes = 4_096
    /// The most bytes of a reply that is typed on a notification.
    public static let replyBytes = 16_384
    /// The most taps in flight to loops.
    public static let tapsInFlight = 8
    /// How long a call of the system's notification centre may take.
    public static let systemTimeout = Duration.seconds(10)
    /// The most abandoned calls that have not returned; at it no call is made.
    public static let abandoned = 4
    /// How long the system's completion handler waits for a reply or "mark as read" to be done; the
    /// system ends an app after about 30 s.
    public static let actionTimeout = Duration.seconds(20)
    /// The part of it spent waiting for the server to confirm a read position.
    public static let readTimeout = Duration.seconds(5)
    /// Timeout for fetching a push's message in a background launch; the system gives about 30 s.
    public static let wakeTimeout = Duration.seconds(15)
    /// How long a background launch and a tap wait for their notifications.
    static let settledTimeout = Duration.seconds(5)
    /// The longest `Retry-After` of the server that is respected.
    static let longestRetryAfter = Duration.seconds(3_600)
    /// The greatest ``Notices/Configuration/bannersPerChannel``.
    static let banners = 50
    /// The longest pause before the system or the disk is asked again after a failure.
    public static let longestPauseSeconds = 30
}
