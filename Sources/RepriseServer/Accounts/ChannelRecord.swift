package import RepriseCore
package import RepriseWire

/// The settings of a channel.
package struct ChannelSettings: Hashable, Sendable {
    /// The users who may read and publish.
    package enum Visibility: String, Hashable, Sendable, CaseIterable {
        /// Every user.
        case `public`
        /// Its members.
        case `private`
    }

    /// The messages that a member of a private channel sees.
    package enum History: String, Hashable, Sendable, CaseIterable {
        case all
        /// Messages published since the member joined.
        case sinceJoin
    }

    package var visibility: Visibility
    package var history: History
    /// The channel's retention; unset values default to the server's.
    package var retention: RetentionPolicy
    /// The displayed title.
    package var title: String?

    package init(
        visibility: Visibility = .public, history: History = .all,
        retention: RetentionPolicy = RetentionPolicy(), title: String? = nil
    ) {
        self.visibility = visibility
        self.history = history
        self.retention = retention
        self.title = title
    }
}

/// A channel that a user has made.
package struct ChannelRecord: Hashable, Sendable {
    package var name: ChannelName
    package var settings: ChannelSettings
    /// Its maker; nil if access was open.
    package var maker: UserID?
    package var made: WallTime

    package init(
        name: ChannelName, settings: ChannelSettings, maker: UserID?, made: WallTime
    ) {
        self.name = name
        self.settings = settings
        self.maker = maker
        self.made = made
    }
}
