/// The bounds of what accounts keep; `docs/limits.md` lists each with what happens at it.
package enum AccountLimits {
    /// The most bytes of a channel's title.
    package static let titleBytes = 256
    /// The most bytes of a device's platform.
    package static let platformBytes = 64
    /// The most bytes of a push token: a Web Push subscription is the longest.
    package static let pushTokenBytes = 4_096
    /// The most devices of a user.
    package static let devices = 100
    /// The most members of a channel.
    package static let members = 100_000
    /// The most moves of positions that wait for their commit.
    package static let waitingMoves = 65_536
    /// The most moves of positions of one transaction.
    package static let movesPerCommit = 2_048
}
