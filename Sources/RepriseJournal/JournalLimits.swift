/// The bounds of a journal that cannot be configured; ``Journal/Configuration`` has the others.
public enum JournalLimits {
    /// The most bytes of an entry's payload.
    public static let payloadBytes = 262_144
    /// The most bytes of a kind's name, a source and a readiness's name.
    public static let nameBytes = 64
    /// The most bytes of a partition key.
    public static let partitionKeyBytes = 128
    /// The most entries in one call of `record`.
    public static let entriesPerRecord = 10_000
    /// The most bytes that are stored of a reason.
    public static let reasonBytes = 1_024
    /// The longest delay, bound or retention, in days; a longer one is cut.
    public static let longestWaitDays = 36_500
    /// How often an entry may be in flight when its process dies before it becomes a dead letter.
    public static let interruptions = 50
    /// The most calls of `write` and `record` that wait for their commit.
    public static let waitingWrites = 65_536
    /// The most calls that share one commit.
    public static let writesPerCommit = 1_024
    /// The most bytes of a spool file.
    public static let spoolFileBytes = 524_288
    /// The most files that wait in a spool.
    public static let spoolFiles = 4_096
    /// How often an owner that writes nothing checks whether another process has taken the journal
    /// over.
    public static let ownershipCheck = Duration.seconds(5)
    /// The most bytes of a mirror.
    public static let mirrorBytes = 65_536
    /// The most bad spool files that are kept aside; further ones are counted, reported and
    /// removed.
    public static let spoolFilesAside = 100
    /// The most damaged databases that are kept aside; the oldest is removed.
    public static let databasesAside = 8
    /// The most subfolders of a folder without a journal that are searched for one, and named.
    static let foldersSearched = 1_000
    static let foldersNamed = 5
    /// The most entries that one step of an adoption moves.
    static let adoptedAtOnce = 32
    /// The most bytes of `account.json`.
    static let accountBytes = 65_536
    /// The most kinds of losses that `account.json` lists.
    static let accountLosses = 200
}
