package import RepriseCore

/// Where a chain stands.
///
/// The numbers are part of the format: never renumber.
public enum ChainState: Int, Hashable, Sendable, Codable, CaseIterable {
    /// Waits for the end of another chain of its name.
    case queued = 0
    /// Its tasks run, or wait for what they need.
    case running = 1
    /// Somebody has paused it.
    case paused = 2
    /// It cannot go on with this version of the app: its reason says why.
    case parked = 3
    /// A task has failed for good; what was done is taken back.
    case failing = 4
    /// It was cancelled; what was done is taken back.
    case cancelling = 5
    /// All is done.
    case succeeded = 10
    /// A task failed for good, or the chain was late.
    case failed = 11
    /// It was cancelled.
    case cancelled = 12
    /// Its rows or files cannot be read.
    case quarantined = 13

    /// Whether nothing will happen to it any more, unless somebody retries it.
    public var isEnd: Bool { rawValue >= 10 }

    /// As the ledger counts it.
    package var outcome: Outcome? {
        switch self {
        case .queued, .running, .paused, .parked, .failing, .cancelling: nil
        case .succeeded: .applied
        case .failed, .quarantined: .dead
        case .cancelled: .superseded
        }
    }
}

/// Where a task stands.
///
/// The numbers are part of the format: never renumber.
public enum TaskState: Int, Hashable, Sendable, Codable, CaseIterable {
    /// The steps before it are not done.
    case blocked = 0
    /// It should run: it does, waits for its turn, or for its next attempt.
    case intended = 1
    /// It waits for a condition: ``ChainTaskStatus/hold`` says which.
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

/// Where it stands to take a task's effect back.
///
/// The numbers are part of the format: never renumber.
public enum UndoState: Int, Hashable, Sendable, Codable, CaseIterable {
    /// Nobody has asked for it.
    case none = 0
    /// It should run.
    case intended = 1
    /// It waits for a condition.
    case held = 2
    /// The effect is taken back.
    case undone = 10
    /// It could not be taken back.
    case failed = 11

    /// Whether nobody will try again.
    var isEnd: Bool { rawValue >= 10 }
}
