/// The invariants that a run can violate: the guarantees of the README, and what follows from them.
package enum Invariant: String, CaseIterable, Hashable, Sendable {
    /// What was accepted survives.
    case recorded
    /// Released by a signal: nothing is dispatched while its gate is closed.
    case released
    /// An entry is finished when its handler has succeeded, not before; one that fails comes again
    /// or is visibly dead.
    case acknowledged
    /// An effect takes place once where that is possible, and as often as declared elsewhere.
    case once
    /// The ledger balances, and agrees with counts made outside of it.
    case accounted
    /// What a device publishes in a channel is stored in the order in which it was recorded.
    case order
    /// Queues, frames and retries stay within their limits.
    case bounded
    /// A user gets everything that is for him, and nothing else.
    case access
    /// Coverage is what was applied or told gone; answers tile what is missing.
    case coverage
    /// Nothing leaves the server before it is durable.
    case durable
    /// A device with a working network and open gates is complete within a bound of time.
    case alive
    /// The model of the store does what the real one does (tier c).
    case agreement
}

/// An invariant that was violated, and how.
package struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
    package var invariant: Invariant
    package var what: String
    package var at: Duration

    package var description: String { "\(invariant.rawValue): \(what)" }
}
