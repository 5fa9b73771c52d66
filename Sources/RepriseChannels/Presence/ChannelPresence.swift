public import RepriseWire

/// What a device knows of the presence of a channel's members.
public enum ChannelPresence: Hashable, Sendable {
    /// Not yet: there is no connection, or no answer.
    case unknown
    /// The presence of the others, by user.
    case known([UserID: UserPresence])
    /// The server does not tell it; the codes are those of ``RepriseWire/RefusalCode``:
    /// `notOffered`, `forbidden`, `tooManyMembers`; `tooManyChannels` beyond
    /// ``RepriseWire/WireLimits/watchedChannels``.
    case refused(RefusalCode)

    /// The presence of the others; empty where it is not known.
    public var users: [UserID: UserPresence] {
        if case .known(let users) = self { users } else { [:] }
    }
}

extension Channel {
    /// The presence of the other members: what is known, then each change.
    ///
    /// The device asks the server for it as long as somebody iterates: end it when it is not shown
    /// any more. In a channel of more than ``RepriseWire/WireLimits/watchedUsers`` members it is
    /// refused: name the users. The server must offer it (`reprise serve --presence`), and the user
    /// must be a member. Buffers the newest value; older ones are dropped.
    public var presence: AsyncStream<ChannelPresence> { channels.presenceWatch.watch(name, nil) }

    /// The presence of some members, as ``presence``.
    ///
    /// - Parameter users: at most ``RepriseWire/WireLimits/watchedUsers``; of more those who come
    ///   first by name.
    /// - Returns: what is known of them.
    public func presence(of users: Set<UserID>) -> AsyncStream<ChannelPresence> {
        channels.presenceWatch.watch(name, users)
    }
}

extension Channels {
    /// Says that the user does nothing with this device, or does something again.
    ///
    /// In the background a device is idle by itself. Others see a user idle when all of his devices
    /// are.
    public func setIdle(_ isIdle: Bool) { presenceWatch.setIdle(isIdle) }
}
