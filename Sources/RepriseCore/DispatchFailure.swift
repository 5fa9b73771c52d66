/// An error that a handler throws to choose what happens to the entry.
///
/// ```swift
/// journal.handle("mail") { entry in
///     switch try await post(entry.payload) {
///     case 200: return
///     case 429: throw DispatchFailure.retry(after: .seconds(30), "The server asks us to wait.")
///     case let status: throw DispatchFailure.permanent("The server answered \(status).")
///     }
/// }
/// ```
///
/// Any other error means: retry after the kind's backoff, up to its limit.
public struct DispatchFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What to do with the entry.
    public enum Advice: Hashable, Sendable {
        /// Retrying is useless: the entry is a dead letter at once.
        case permanent
        /// Retry, no earlier than this long from now. It counts as a failure.
        case retry(after: Duration)
        /// The condition for handling was lost meanwhile (a connection died). The entry is requeued
        /// without counting a failure, and dispatched again after a wait, once its gate is open.
        case notReady
    }

    /// What to do with the entry.
    public let advice: Advice
    /// The reason, for people; kept with the entry, at most 1,024 bytes of it.
    public let reason: String

    /// Ends the entry as a dead letter.
    public static func permanent(_ reason: String) -> Self {
        Self(advice: .permanent, reason: reason)
    }

    /// Asks for a retry after a time that a third party named.
    public static func retry(after wait: Duration, _ reason: String) -> Self {
        Self(advice: .retry(after: wait), reason: reason)
    }

    /// Requeues the entry because the condition for handling it was lost.
    public static func notReady(_ reason: String) -> Self {
        Self(advice: .notReady, reason: reason)
    }

    /// The reason.
    public var description: String { reason }
}

/// Thrown for an entry that could not be handled only because the previous one of its partition key
/// was not, or because its gate has just closed.
///
/// The entry is requeued in its place, counts no failure, and is dispatched again without a wait of
/// its own.
package struct RequeueInOrder: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ reason: String) { description = reason }
}
