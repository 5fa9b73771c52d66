/// The half-open interval (after, through] of sequences that one message, one `gone` or one hole
/// accounts for.
public struct SequenceRange: Hashable, Sendable, CustomStringConvertible {
    /// The sequence before the first one in the range; 0 or more.
    public let after: Int64
    /// The last sequence in the range; greater than `after`.
    public let through: Int64

    /// Makes the range (after, through]; nil if the bounds are not in order.
    ///
    /// - Parameters:
    ///   - after: 0 or more.
    ///   - through: greater than `after`, at most ``WireLimits/greatestSequence``.
    public init?(after: Int64, through: Int64) {
        guard after >= 0, through > after, through <= WireLimits.greatestSequence else {
            return nil
        }
        self.after = after
        self.through = through
    }

    init(uncheckedAfter after: Int64, through: Int64) {
        self.after = after
        self.through = through
    }

    /// How many sequences it holds.
    public var count: Int64 { through - after }

    /// Whether it holds `sequence`.
    public func contains(_ sequence: Int64) -> Bool { sequence > after && sequence <= through }

    /// In mathematical notation: `(3, 7]`.
    public var description: String { "(\(after), \(through)]" }
}
