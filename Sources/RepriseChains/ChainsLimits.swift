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
    /// The most bytes of outputs that are kept in memory for a chain that runs.
    public static let outputsInMemory = 262_144
    /// The idle chains kept in memory.
    public static let idleChains = 64
    /// The most bytes of an error that is kept.
    public static let errorBytes = 1_024
}
