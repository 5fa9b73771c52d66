package import RepriseCore
import RepriseJournal

private let configuration = Chains.Configuration()

extension LimitTable {
    /// Printed into `docs/limits/chains.md`.
    package static let chains: Self = LimitTable(
        "chains", "Chains",
        "",
        [
            Limit(
                "chains.tasks", "tasks of a chain, of a step",
                "\(ChainsLimits.tasks), \(ChainsLimits.parallelTasks)",
                "`.tooLarge`; nothing is started"),
            Limit(
                "chains.names", "names of chains, tasks and workers; unique names",
                "\(bytes: ChainsLimits.nameBytes)", "`.malformed`, `.badConfiguration`"),
            Limit(
                "chains.items", "items of an `Each`; the input of a `Subchain`",
                "\(ChainsLimits.items); both \(bytes: ChainsLimits.inputBytes) as JSON",
                "the chain fails and compensates"),
            Limit(
                "chains.subchains", "subchains in one another", "\(ChainsLimits.subchains)",
                "the chain fails and compensates"),
            Limit(
                "chains.input", "a chain's input; a task's input",
                "\(bytes: ChainsLimits.inputBytes) as JSON",
                "`.tooLarge`; the task fails permanently"),
            Limit(
                "chains.output", "a task's output",
                """
                \(bytes: ChainsLimits.outputBytes) as JSON; beyond \
                \(bytes: ChainsLimits.inlineBytes) in a file
                """,
                "the task fails permanently"),
            Limit(
                "chains.checkpoint", "a checkpoint",
                "\(bytes: ChainsLimits.checkpointBytes) as JSON", "`.tooLarge`"),
            Limit(
                "chains.texts", "a note, a line of the log, an error",
                """
                \(ChainsLimits.noteBytes), \(ChainsLimits.logBytes), \
                \(bytes: ChainsLimits.errorBytes)
                """,
                "cut"),
            Limit(
                "chains.log", "lines of a chain's log", "\(ChainsLimits.logLines)",
                "the oldest is removed"),
            Limit(
                "chains.open", "chains that have not ended",
                "\(ChainsLimits.openChains), and the journal's `pendingLimit` at a start",
                "`.full`; started chains continue beyond the journal's limit"),
            Limit(
                "chains.schedules", "schedules, of which each has one run at a time",
                "\(ChainsLimits.schedules)", "`.full`; a time that comes meanwhile is skipped"),
            Limit(
                "chains.interval", "the interval of a schedule",
                """
                \(ChainsLimits.shortestInterval) to \(ChainsLimits.longestInterval); by the \
                calendar \(ScheduleLimits.times) times a day
                """,
                "`.malformed`"),
            Limit(
                "chains.review",
                "waits after a correction of schedules' times that cannot be written",
                """
                \(ChainsLimits.reviewBackoff.base), doubling to \
                \(ChainsLimits.reviewBackoff.longest), with full jitter
                """,
                "again, until one succeeds or the chains end"),
            Limit(
                "chains.reading", "the wait after outputs of earlier tasks could not be read",
                "\(ChainsLimits.readRetry)",
                "again, until they can be read, or the task or its chain is late"),
            Limit(
                "chains.concurrency", "concurrent tasks",
                "`concurrency`, \(configuration.concurrency); at most \(ChainsLimits.concurrency)",
                "the others wait"),
            Limit(
                "chains.attempts", "failures of a task",
                "`retry(attempts:)`, \(ChainsLimits.attempts)", "the chain fails and compensates"),
            Limit(
                "chains.interruptions",
                "kills while a task is in flight, without a checkpoint between",
                "\(JournalLimits.interruptions)", "the task has failed"),
            Limit(
                "chains.cancelGrace", "a cancelled worker returns",
                "`cancelGrace`, \(configuration.cancelGrace)",
                "abandoned; its later result does not count"),
            Limit(
                "chains.retention", "an ended chain is kept",
                "`retention`, \(configuration.retention)", "removed; the ledger still counts it"),
            Limit(
                "chains.idle", "idle chains in memory", "\(ChainsLimits.idleChains)",
                "read again when they continue"),
            Limit(
                "chains.progress", "unread progress of an observer",
                "the newest \(CoreLimits.observedChanges)", "older changes are dropped"),
            Limit(
                "chains.changes", "unread changes of a reader of all chains",
                "the newest of each of \(ChainsLimits.unreadChanges) chains",
                "the one that waits longest is dropped, and the next one says so (`missed`)"),
            Limit(
                "chains.notifications", "notifications of progress",
                """
                one of each chain, the newest of each of \(ChainsLimits.unreadChanges) chains, \
                \(ChainsLimits.notificationInterval) between two
                """,
                "progress between is not shown; each result is, at once"),
            Limit(
                "chains.centre", "a call of the notification centre",
                """
                \(ChainsLimits.notificationTimeout); tried again after \
                \(ChainsLimits.notificationRetry)
                """,
                "a result is kept until it was shown; a refusal ends it"),
            Limit(
                "chains.notificationTexts", "a notification's title, text and data",
                """
                \(ChainsLimits.titleBytes), \(ChainsLimits.bodyBytes), \
                \(bytes: ChainsLimits.infoBytes)
                """,
                "cut; the data is left out"),
            Limit(
                "chains.list", "chains of a page of `list`", "\(ChainsLimits.page)", "cut"),
            Limit(
                "chains.compensation", "an attempt of a compensation",
                "`compensationDeadline`, \(configuration.compensationDeadline)",
                "it has failed, and is retried as `retry` says"),
            Limit(
                "chains.leave", "cleaning up after the tasks that a sign-out ends",
                "\(ChainsLimits.leaving); \(ChainsLimits.leftTasks) tasks, begun ones first",
                "the others are not cleaned up after"),
            Limit(
                "chains.shown", "an input or an output in `show`",
                "\(bytes: ChainViewer.shownBytes), and the line", "cut; `export` has it whole"),
            Limit(
                "chains.commands", "waiting commands",
                "\(JournalLimits.spoolFiles) files of the spool", "`.full`, exit status 75"),
        ])

    /// Printed into `docs/limits/chains.md`.
    package static let workers: Self = LimitTable(
        "chains", "Standard workers",
        "",
        [
            Limit(
                "workers.path", "a path in the sandbox",
                """
                \(bytes: WorkerLimits.path), \(WorkerLimits.pathParts) parts of \
                \(bytes: WorkerLimits.pathPart)
                """,
                "`outsideSandbox`; the task ends"),
            Limit(
                "workers.url", "a URL", "\(bytes: WorkerLimits.url)",
                "`addressRefused`; the task ends"),
            Limit(
                "workers.redirects", "redirects", "\(WorkerLimits.redirects)",
                "`refused`; the task ends"),
            Limit(
                "workers.addresses", "addresses of a name", "\(WorkerLimits.addresses)",
                "the others are not used"),
            Limit(
                "workers.lookUp", "resolving a name", "\(WorkerLimits.lookUp)",
                "`timedOut`, retried"),
            Limit(
                "workers.bodies", "the body of a request; of an answer",
                "\(bytes: WorkerLimits.requestBody); \(bytes: WorkerLimits.answer)",
                "`tooLarge`; the task ends"),
            Limit(
                "workers.download", "a download",
                "\(bytes: WorkerLimits.download), or the input's own limit",
                "`tooLarge`; the task ends, and nothing is left"),
            Limit(
                "workers.position", "a download and a copy store their position",
                "every \(bytes: WorkerLimits.checkpointBytes)",
                "as much is fetched or copied again after a kill"),
            Limit(
                "workers.freeSpace", "bytes left free on the disk",
                "\(bytes: WorkerLimits.freeBytesLeft)", "`diskFull`, retried"),
            Limit(
                "workers.patience", "silence of a server (`patience`)",
                """
                \(seconds: WorkerLimits.timeouts.lowerBound) to \
                \(seconds: WorkerLimits.timeouts.upperBound); \
                \(seconds: WorkerLimits.defaultTimeout) by default
                """,
                "`timedOut`, retried"),
            Limit(
                "workers.retryAfter", "`Retry-After`", "\(WorkerLimits.retryAfter)", "cut"),
            Limit(
                "workers.transferLook", "a transfer's state is read",
                "every \(WorkerLimits.transferLook), beside the system's events", "–"),
            Limit(
                "workers.leftover", "a half-written file", "\(WorkerLimits.leftover)",
                "removed by `Sandbox.sweep()`"),
            Limit(
                "workers.sweep", "files and folders that `Sandbox.sweep()` reads",
                "\(WorkerLimits.sweep)", "the next sweep has the others"),
        ])
}
