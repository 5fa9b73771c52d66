package import RepriseCore

private let configuration = Journal.Configuration()
private let kind = EntryKind("kind")

extension LimitTable {
    /// Printed into `docs/limits/device.md`.
    package static let journal: Self = LimitTable(
        "device", "The journal",
        "",
        [
            Limit(
                "journal.payload", "an entry's payload", "\(bytes: JournalLimits.payloadBytes)",
                "`.tooLarge`"),
            Limit(
                "journal.names", "names of kinds, sources and readers; partition keys",
                "\(JournalLimits.nameBytes); \(bytes: JournalLimits.partitionKeyBytes)",
                "`.tooLarge`, for a reader `.malformed`; with a zero byte `.malformed`"),
            Limit(
                "journal.record", "entries in one `record`", "\(JournalLimits.entriesPerRecord)",
                "`.tooLarge`"),
            Limit(
                "journal.pending", "entries that have not ended",
                "\(configuration.pendingLimit) (settable)", "`.full`; nothing is recorded"),
            Limit(
                "journal.waitingWrites", "writes that wait for their commit",
                "\(JournalLimits.waitingWrites)", "`.full`"),
            Limit(
                "journal.writesPerCommit", "writes in one commit",
                "\(JournalLimits.writesPerCommit)", "the others go into the next commit"),
            Limit(
                "journal.attempts", "attempts of an entry, and of a message",
                "\(kind.attemptLimit) (settable)", "a dead letter with the reason"),
            Limit(
                "journal.attemptWaits", "waits between attempts",
                """
                \(kind.backoff.base), doubling to \(kind.backoff.longest), with full jitter \
                (settable)
                """,
                "–"),
            Limit(
                "journal.interruptions", "processes that died while the entry was in flight",
                "\(JournalLimits.interruptions)", "a dead letter"),
            Limit(
                "journal.reason", "a stored reason", "\(bytes: JournalLimits.reasonBytes)", "cut"),
            Limit(
                "journal.longestWait", "a delay, a bound, a retention",
                "\(seconds: 86_400 * Int64(JournalLimits.longestWaitDays))", "cut"),
            Limit(
                "journal.retention", "finished entries are kept, and duplicates recognised, for",
                "\(configuration.retention) (settable)", "counted as retired in the ledger"),
            Limit(
                "journal.spool", "a spool file; files in a spool",
                "\(bytes: JournalLimits.spoolFileBytes); \(JournalLimits.spoolFiles)",
                "`.tooLarge`; `.full`"),
            Limit(
                "journal.spoolWaits", "waits between merges of the spool, after the disk failed",
                "\(SpoolRefill.backoff.base), doubling to \(SpoolRefill.backoff.longest)",
                "again, until one succeeds or the journal is closed"),
            Limit(
                "journal.aside", "bad spool files, damaged databases kept aside",
                "\(JournalLimits.spoolFilesAside); \(JournalLimits.databasesAside)",
                "further files are counted and removed; the oldest database is removed"),
            Limit(
                "journal.folders",
                "subfolders searched for a journal, and named, where a folder has none",
                "\(JournalLimits.foldersSearched); \(JournalLimits.foldersNamed)",
                "the first by name"),
            Limit(
                "journal.mirror", "the mirror", "\(bytes: JournalLimits.mirrorBytes)",
                "`.tooLarge`"),
            Limit(
                "journal.clockJump", "a jump of the calendar", "\(WallClockGuard.tolerance)",
                """
                nothing expires or is pruned until server time, or as long an uptime, confirms \
                it
                """),
            Limit(
                "journal.clocks", "a calendar that is set while nothing is written is noticed",
                """
                within \(JournalLimits.ownershipCheck) where a client runs, else within \
                \(DispatchMachine.longestSleep); by less than a minute never
                """,
                "then waits keep their length, and times of day come"),
            Limit(
                "journal.ownership", "an idle owner checks whether another process took over",
                "every \(JournalLimits.ownershipCheck), and before it dials",
                "`run()` ends with `.ownershipLost`; the connection is `stopped`"),
            Limit(
                "journal.close", "closing waits for handlers",
                "twice \(configuration.closeGrace) (settable)",
                "cancelled, then dispatched again after the next opening"),
            Limit(
                "journal.adoption", "entries in one step of an adoption",
                "\(JournalLimits.adoptedAtOnce)", "the next step"),
            Limit(
                "journal.account", "`account.json`; its list of losses",
                "\(bytes: JournalLimits.accountBytes); \(JournalLimits.accountLosses)",
                "`.corrupt`; further losses are not listed"),
            Limit(
                "journal.observers", "unread state changes of an observer",
                "the newest \(CoreLimits.observedChanges)", "older ones are dropped"),
        ])
}
