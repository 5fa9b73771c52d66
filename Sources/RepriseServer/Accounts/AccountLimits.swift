/// The limits of accounts; `docs/limits/accounts.md` lists each with its effect.
package enum AccountLimits {
    /// The most bytes of a channel's title.
    package static let titleBytes = 256
    /// The most bytes of a device's platform.
    package static let platformBytes = 64
    /// The most bytes of a push token: a Web Push subscription is the longest.
    package static let pushTokenBytes = 4_096
    /// The most devices of a user.
    package static let devices = 100
    /// The longest retention of a channel: 100 years.
    package static let longestRetention: Duration = .seconds(100 * 365 * 86_400)
    /// The most members of a channel.
    package static let members = 100_000
    /// The most channels that a user who is not an admin may make.
    package static let channelsMade = 10_000
    /// The most conversations of two of a user.
    package static let directs = 10_000
    /// The most members of all channels made by one user who is not an admin.
    package static let membersMade = 1_000_000
    /// The most changes that wait for their commit.
    package static let waitingWrites = 65_536
    /// The most changes of one transaction.
    package static let writesPerCommit = 2_048
    /// The most earlier catalogues of forms per company.
    static let formsVersions = 10
}
