package import RepriseWire

/// Remembers how far an event loop has told each user's positions, so that none that it tells goes
/// back.
///
/// Moves are durable in one order and are heard of in any: two answers of the disk overtake each
/// other, and so do a move and a state that was read before it. A connection lives on one loop; so
/// where each position is told through this, each connection sees it grow.
package struct ToldPositions: Sendable {
    /// How many are remembered before the older half may be forgotten.
    package static let limit = 131_072
    /// How long each is remembered at least, if there are not more: far longer than anything is on
    /// its way from the disk to the loop.
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

    /// A position is to be told.
    ///
    /// - Returns: what to tell: that, or what was told before, whichever is farther.
    package mutating func newest(
        _ position: ServerFrame.Position, in channel: ChannelName
    ) -> ServerFrame.Position {
        let key = Key(channel: channel, user: position.user)
        let newest = (newer[key] ?? older[key]).map { $0.merged(with: position) } ?? position
        if newer.count >= limit, newer[key] == nil { age() }
        newer[key] = newest
        return newest
    }

    /// Time has passed: what was not told for a while is forgotten.
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
