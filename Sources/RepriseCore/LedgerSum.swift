/// The ledger of guarantee 5:
/// `accepted = applied + expired + superseded + dead + unconfirmed + pending`.
///
/// `accepted` is a counter of its own, incremented in the recording transaction; the right side is
/// counted from the rows. So the equality is a check that can fail.
public struct LedgerSum: Hashable, Sendable {
    /// A range of messages that will never arrive, although no author erased them.
    public struct Loss: Hashable, Sendable {
        /// The name of the channel that lacks them.
        public var channel: String
        /// The reason: `retention` or `epoch`.
        public var reason: String
        /// How many sequences, if that is known.
        public var count: Int64?

        /// Makes a loss.
        ///
        /// - Parameters:
        ///   - channel: the channel.
        ///   - reason: `retention` or `epoch`.
        ///   - count: how many sequences, if that is known.
        public init(channel: String, reason: String, count: Int64?) {
            self.channel = channel
            self.reason = reason
            self.count = count
        }
    }

    /// How many were ever accepted.
    public var accepted: Int64 = 0
    /// How many have not ended.
    public var pending: Int64 = 0
    /// How many ended, by outcome.
    public var outcomes: [Outcome: Int64] = [:]
    /// How many arrivals were recognised as duplicates; not part of the sum.
    public var duplicates: Int64 = 0
    /// Lost messages by channel; not part of the sum.
    public var lost: [Loss] = []

    /// An empty ledger.
    public init() {}

    /// Whether the sum balances.
    public var isBalanced: Bool { accepted == pending + outcomes.values.reduce(0, +) }

    /// Adds another part of the same journal.
    public mutating func add(_ other: LedgerSum) {
        accepted += other.accepted
        pending += other.pending
        outcomes.merge(other.outcomes, uniquingKeysWith: +)
        duplicates += other.duplicates
        lost += other.lost
    }
}
