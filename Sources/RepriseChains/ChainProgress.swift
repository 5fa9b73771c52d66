/// The name of one chain that was started: 32 hexadecimal digits.
public struct ChainID: Hashable, Sendable, Codable, CustomStringConvertible {
    /// 32 hexadecimal digits.
    public let text: String

    /// Takes an id that ``Chains/start(_:input:name:onConflict:constraints:after:deadline:)`` has
    /// given.
    public init(_ text: String) { self.text = text }

    /// The text.
    public var description: String { text }
}

/// How far a chain is, for a screen or a notification.
public struct ChainProgress: Hashable, Sendable {
    /// The chain's state.
    public var state: ChainState
    /// Tasks that are done.
    public var done: Int
    /// All tasks.
    public var total: Int
    /// The task that reports its progress.
    public var task: String?
    /// The progress of that task, 0 to 1.
    public var fraction: Double?
    /// The task's note.
    public var note: String?
    /// Why it has failed or was cancelled; in a notification.
    public var reason: String?

    /// Describes a chain's progress.
    ///
    /// - Parameters:
    ///   - state: the chain's state.
    ///   - done: tasks that are done.
    ///   - total: all tasks.
    ///   - task: the task that reports its progress.
    ///   - fraction: of that task, 0 to 1.
    ///   - note: the task's note.
    ///   - reason: why it has failed or was cancelled.
    public init(
        state: ChainState, done: Int, total: Int, task: String? = nil, fraction: Double? = nil,
        note: String? = nil, reason: String? = nil
    ) {
        self.state = state
        self.done = done
        self.total = total
        self.task = task
        self.fraction = fraction
        self.note = note
        self.reason = reason
    }
}
