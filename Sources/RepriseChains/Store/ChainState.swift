package import RepriseCore

/// The state of a chain.
///
/// The numbers are part of the format: never renumber.
public enum ChainState: Int, Hashable, Sendable, Codable, CaseIterable {
    /// Waits for the end of another chain of its name.
    case queued = 0
    /// Its tasks run, or wait for their conditions.
    case running = 1
    /// Paused by a command.
    case paused = 2
    /// Suspended: this version of the app cannot continue it; its reason says why.
    case suspended = 3
    /// A task has failed for good; effects are compensated.
    case failing = 4
    /// It was cancelled; effects are compensated.
    case cancelling = 5
    /// All is done.
    case succeeded = 10
    /// A task failed for good, or the chain was late.
    case failed = 11
    /// It was cancelled.
    case cancelled = 12
    /// Its rows or files cannot be read.
    case quarantined = 13

    /// Whether it has ended; only a retry continues it.
    public var isEnd: Bool { rawValue >= 10 }

    /// As the ledger counts it.
    package var outcome: Outcome? {
        switch self {
        case .queued, .running, .paused, .suspended, .failing, .cancelling: nil
        case .succeeded: .applied
        case .failed, .quarantined: .dead
        case .cancelled: .superseded
        }
    }
}

/// The state of a task.
///
/// The numbers are part of the format: never renumber.
public enum TaskState: Int, Hashable, Sendable, Codable, CaseIterable {
    /// The steps before it are not done.
    case blocked = 0
    /// It should run: it runs, is queued, or waits for its next attempt.
    case intended = 1
    /// It waits for a condition, which ``ChainTaskStatus/hold`` names.
    case held = 2
    /// Done.
    case succeeded = 10
    /// Failed for good.
    case failed = 11
    /// Cancelled.
    case cancelled = 12

    /// Whether it has ended.
    public var isEnd: Bool { rawValue >= 10 }
}

/// The state of a task's compensation.
///
/// The numbers are part of the format: never renumber.
public enum CompensationState: Int, Hashable, Sendable, Codable, CaseIterable {
    /// Not requested.
    case none = 0
    /// It should run.
    case intended = 1
    /// It waits for a condition.
    case held = 2
    /// The effect is compensated.
    case compensated = 10
    /// The compensation failed.
    case failed = 11

    /// Whether it has ended.
    var isEnd: Bool { rawValue >= 10 }
}
