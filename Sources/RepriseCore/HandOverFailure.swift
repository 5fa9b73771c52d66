/// What a handler throws to say more than "it failed".
///
/// ```swift
/// journal.handle("mail") { entry in
///     switch try await post(entry.payload) {
///     case 200: return
///     case 429: throw HandOverFailure.retry(after: .seconds(30), "The server asks us to wait.")
///     case let status: throw HandOverFailure.permanent("The server answered \(status).")
///     }
/// }
/// ```
///
/// Any other error means: try again after the kind's backoff, up to its limit.
public struct HandOverFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What to do with the entry.
    public enum Advice: Hashable, Sendable {
        /// Trying again is of no use: it is a dead letter at once.
        case permanent
        /// Try again, not before this long from now. It counts as a failure.
        case retry(after: Duration)
        /// The condition for handling it was lost on the way (a connection died). It goes back and
        /// counts as no failure; it is handed over again after a wait, once its gate is open.
        case notReady
    }

    /// What to do with the entry.
    public let advice: Advice
    /// Why, for people; kept with the entry, at most 1,024 bytes of it.
    public let reason: String

    /// Ends the entry as a dead letter.
    public static func permanent(_ reason: String) -> Self {
        Self(advice: .permanent, reason: reason)
    }

    /// Asks for another try after a time that somebody else has named.
    public static func retry(after wait: Duration, _ reason: String) -> Self {
        Self(advice: .retry(after: wait), reason: reason)
    }

    /// Gives the entry back because the condition for handling it was lost.
    public static func notReady(_ reason: String) -> Self {
        Self(advice: .notReady, reason: reason)
    }

    /// The reason.
    public var description: String { reason }
}

/// What a handler throws for an entry that could not be handled only because one before it in its
/// lane was not, or because its gate has just closed.
///
/// It goes back to its place in the lane, counts as no failure, and comes again without a wait of
/// its own.
package struct BackInLane: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ reason: String) { description = reason }
}
