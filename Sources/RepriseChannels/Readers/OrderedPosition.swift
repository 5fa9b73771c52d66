/// Positions in the order of a channel's sequences, over all its epochs: the epoch's rank in the
/// high bits and the sequence in the low 53.
///
/// So they compare as one number, as arrivals do.
package enum OrderedPosition {
    private static let sequenceBits: Int64 = 53
    /// The most epochs of a channel that an ordered reader can count.
    static let epochs = 1_024

    /// `rank` is the epoch's rank among those of its channel, oldest first.
    package static func position(rank: Int, seq: Int64) -> Int64 {
        Int64(rank) << sequenceBits | seq
    }

    package static func rank(of position: Int64) -> Int { Int(position >> sequenceBits) }

    package static func seq(of position: Int64) -> Int64 { position & (1 << sequenceBits - 1) }

    /// The sequence of an epoch that a reader at `position` has reached.
    package static func seq(of position: Int64, inRank rank: Int) -> Int64 {
        let reached = Self.rank(of: position)
        return rank < reached ? .max : rank > reached ? 0 : seq(of: position)
    }
}
