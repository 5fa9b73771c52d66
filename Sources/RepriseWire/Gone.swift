/// A range that will never arrive, and why.
public struct Gone: Hashable, Sendable {
    /// Why a range will never arrive.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The server's retention has overtaken the device. Counts as lost.
        case retention
        /// It was erased on purpose.
        case erased
        /// It was before the user joined the channel.
        case beforeJoin
        /// The channel's log was replaced. Counts as lost.
        case epoch

        /// Whether the device should have got it.
        public var countsAsLost: Bool { self == .retention || self == .epoch }
    }

    /// The sequences.
    public var range: SequenceRange
    /// The reason.
    public var reason: Reason

    /// Makes a `gone`.
    public init(range: SequenceRange, reason: Reason) {
        self.range = range
        self.reason = reason
    }
}
