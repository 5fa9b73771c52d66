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
    /// The longest age that a channel's retention may name: 100 years.
    package static let longestRetention: Duration = .seconds(100 * 365 * 86_400)
    /// The most members of a channel.
    package static let members = 100_000
    /// The most channels that one user makes who is no admin.
    package static let channelsMade = 10_000
    /// The most members that the channels made by one user have together, if that one is no admin.
    package static let membersMade = 1_000_000
    /// The most changes that wait for their commit.
    package static let waitingWrites = 65_536
    /// The most changes of one transaction.
    package static let writesPerCommit = 2_048
    /// How many former catalogues of forms a company keeps.
    static let formsVersions = 10
}
