package import RepriseCore
package import RepriseWire

/// What can be set of a channel.
package struct ChannelSettings: Hashable, Sendable {
    /// Who may read and publish.
    package enum Visibility: String, Hashable, Sendable, CaseIterable {
        /// Every user.
        case `public`
        /// Its members.
        case `private`
    }

    /// What a member of a private channel sees.
    package enum History: String, Hashable, Sendable, CaseIterable {
        case all
        /// What was published since the member joined.
        case sinceJoin
    }

    package var visibility: Visibility
    package var history: History
    /// What the channel keeps; where it says nothing, what the server keeps of every channel.
    package var retention: RetentionPolicy
    /// For people.
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

/// A channel that somebody has made.
package struct ChannelRecord: Hashable, Sendable {
    package var name: ChannelName
    package var settings: ChannelSettings
    /// Who made it; nil if the server was asking nobody who he is.
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
