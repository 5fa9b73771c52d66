package import RepriseCore

/// Limits of the chains feature; `docs/limits/chains.md` lists each with its effect.
public enum ChainsLimits {
    /// The most tasks of a chain.
    public static let tasks = 10_000
    /// The most tasks that run at the same time.
    public static let concurrency = 64
    /// The attempts of a task without ``Work/retry(attempts:_:)``.
    public static let attempts = 3
    /// The most tasks of a step.
    public static let parallelTasks = 256
    /// The most items of an ``Each``.
    public static let items = 1_000
    /// The most chains in one another.
    public static let subchains = 8
    /// The most bytes of the name of a chain, a task or a worker, and of a unique name.
    public static let nameBytes = 64
    /// The most bytes of a chain's or a task's input, as JSON.
    public static let inputBytes = 262_144
    /// The most bytes of a task's output, as JSON.
    public static let outputBytes = 16_777_216
    /// The most bytes of an output within the journal; a longer one is a file beside it.
    public static let inlineBytes = 8_192
    /// The most bytes of a checkpoint, as JSON.
    public static let checkpointBytes = 8_192
    /// The most bytes of a note.
    public static let noteBytes = 256
    /// The most bytes of a line of the log.
    public static let logBytes = 512
    /// The log lines that a chain keeps.
    public static let logLines = 100
    /// The most chains that have not ended.
    public static let openChains = 100_000
    /// The most schedules.
    public static let schedules = 100
    /// Between the beginnings of two runs of ``ChainSchedule/every(_:)``.
    package static let shortestInterval: Duration = .seconds(900)
    package static let longestInterval: Duration = .seconds(3_650 * 86_400)
    /// The waits after a correction of schedules that cannot be written.
    package static let reviewBackoff = Backoff(base: .milliseconds(250), longest: .seconds(30))
    /// After outputs that the input of a task takes could not be read.
    package static let readRetry: Duration = .seconds(5)
    /// The most bytes of outputs that are kept in memory for a chain that runs.
    public static let outputsInMemory = 262_144
    /// The chains with unread changes of a reader of all chains.
    public static let unreadChanges = 1_024
    /// Between two notifications of progress, of all chains.
    package static let notificationInterval: Duration = .seconds(1)
    /// After a call of the notification centre has failed.
    package static let notificationRetry: Duration = .seconds(30)
    /// How long a call of the notification centre may take, and how many may hang.
    package static let notificationTimeout: Duration = .seconds(10)
    package static let notificationCalls = 4
    /// How long cleaning up after the tasks that a sign-out ends may take, and after how many.
    package static let leaving: Duration = .seconds(10)
    package static let leftTasks = 1_000
    /// The most bytes of a notification's title.
    public static let titleBytes = 256
    /// The most bytes of a notification's text.
    public static let bodyBytes = 1_024
    /// The most bytes of a notification's data.
    public static let infoBytes = 4_096
    /// The most chains of a page.
    public static let page = 1_000
    /// The idle chains kept in memory.
    public static let idleChains = 64
    /// The most bytes of an error that is kept.
    public static let errorBytes = 1_024
}
