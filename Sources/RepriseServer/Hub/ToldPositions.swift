package import RepriseWire

/// Remembers the position last sent of each user on an event loop, so that none goes back.
///
/// Moves are durable in one order but may arrive in any: two results of the disk overtake each
/// other, as do a move and a state read before it. A connection lives on one loop, so each
/// connection sees positions only grow.
package struct ToldPositions: Sendable {
    /// The most positions remembered before the older half may be forgotten.
    package static let limit = 131_072
    /// How long each is remembered below that limit: far longer than a result takes from the disk
    /// to the loop.
    package static let life: Duration = .seconds(60)

    private struct Key: Hashable, Sendable {
        let channel: ChannelName
        let user: UserID
    }

    private let limit: Int
    private var newer: [Key: ServerFrame.Position] = [:]
    private var older: [Key: ServerFrame.Position] = [:]
    private var aged: Duration = .zero

    package init(limit: Int = Self.limit) { self.limit = limit }

    /// A position is to be sent.
    ///
    /// - Returns: the position to send: this one or the last sent one, whichever is farther.
    package mutating func newest(
        _ position: ServerFrame.Position, in channel: ChannelName
    ) -> ServerFrame.Position {
        let key = Key(channel: channel, user: position.user)
        let newest = (newer[key] ?? older[key]).map { $0.merged(with: position) } ?? position
        if newer.count >= limit, newer[key] == nil { age() }
        newer[key] = newest
        return newest
    }

    /// Time has passed: positions that were not sent for a while are forgotten.
    package mutating func ticked(now: Duration) {
        guard now - aged >= Self.life else { return }
        aged = now
        age()
    }

    private mutating func age() {
        older = newer
        newer = [:]
    }
}
