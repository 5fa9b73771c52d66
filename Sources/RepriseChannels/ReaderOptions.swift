public import RepriseCore

/// The rules of one reader: what happens to a message whose handler fails or is killed.
public struct ReaderOptions: Hashable, Sendable {
    /// The order in which a reader gets the messages of a channel.
    public enum Order: Hashable, Sendable {
        /// As they arrive: no wait for a hole, nor for a failed message.
        case arrival
        /// By sequence: waits at a hole until it is filled or gone, and at a failed message until
        /// it succeeds or is dead.
        case ordered
    }

    /// The order of the messages; a reader keeps the order with which it was begun.
    public var order: Order
    /// How often a message may be delivered before it is a dead letter; at least 1.
    public var attemptLimit: Int
    /// The waits between attempts.
    public var backoff: Backoff
    /// What happens to a message whose handler was running when the process died.
    public var onInterruption: EntryKind.Interruption
    /// How many messages may be in doubt after a kill, 1 to 500: so many are marked as in flight
    /// with one write.
    ///
    /// A kill repeats (`again`) or gives up (`never`) at most this many.
    public var window: Int
    /// How long a handler may take for a message before its reader is
    /// ``ReaderState/slow(_:since:)``; at least 1 ms.
    ///
    /// The handler is not cancelled, because its progress is unknown.
    public var deadline: Duration

    package static let defaultWindow = 128
    package static let widestWindow = 500

    /// The default deadline of a handler.
    public static let defaultDeadline = Duration.seconds(30)

    /// Makes the rules.
    ///
    /// - Parameters:
    ///   - order: the order of the messages.
    ///   - attemptLimit: attempts before a message is a dead letter.
    ///   - backoff: the waits between attempts.
    ///   - onInterruption: what happens to an interrupted delivery.
    ///   - window: how many messages may be in doubt after a kill; nil: 128 for `again`, 1 for
    ///     `never`.
    ///   - deadline: how long a handler may take before its reader is slow.
    public init(
        order: Order = .arrival, attemptLimit: Int = 10, backoff: Backoff = Backoff(),
        onInterruption: EntryKind.Interruption = .again, window: Int? = nil,
        deadline: Duration = ReaderOptions.defaultDeadline
    ) {
        self.deadline = max(deadline, .milliseconds(1))
        self.order = order
        self.attemptLimit = max(1, attemptLimit)
        self.backoff = backoff
        self.onInterruption = onInterruption
        let usual = onInterruption == .never ? 1 : Self.defaultWindow
        self.window = min(max(1, window ?? usual), Self.widestWindow)
    }
}

/// A message that a reader could not handle.
public struct FailedMessage: Hashable, Sendable {
    /// The status of a failed message.
    public enum Status: Hashable, Sendable {
        /// It will be delivered again.
        case waiting
        /// It has used up its attempts: a dead letter.
        case dead
        /// The process died in its handler, and the reader forbids a second try.
        case unconfirmed
    }

    /// The message; its `attempt` is how often it has been delivered.
    public let message: Message
    /// Whether the reader gets it again.
    public let status: Status
    /// Why the last attempt failed.
    public let reason: String
}
