public import RepriseCore

/// All inputs of a decision about a notice, besides the message itself.
public struct NoticeState: Hashable, Sendable {
    /// Whether a person has muted a channel or another person.
    public enum Mute: Hashable, Sendable {
        /// Not muted.
        case none
        /// Until then; mentions come through if `exceptMentions`.
        case until(WallTime, exceptMentions: Bool)
    }

    /// Whether a message was already shown.
    public enum Shown: String, Hashable, Sendable, CaseIterable {
        /// Never shown.
        case never
        /// Its banner is in the notification centre.
        case standing
        /// Its banner was there, and was tapped, dismissed or removed.
        case gone
    }

    /// The signed-in user; nil: no sign-in is needed.
    public var me: UserID?
    /// The person's read position in the channel.
    public var read: Int64
    /// Messages up to here are older than the person's membership, or than the channel's current
    /// log.
    public var before: Int64
    /// Whether this message was already shown.
    public var shown: Shown
    /// The visible channel of an app in the foreground; nil: another screen, or the background.
    public var onScreen: ChannelName?
    /// The person's permissions, in the system's settings.
    public var settings: NotificationSettings
    /// Whether the channel is muted.
    public var channelMute: Mute
    /// Whether the sender is muted.
    public var senderMute: Mute
    /// Whether no sound is allowed now: by the app's own quiet hours, or because the app knows of a
    /// Focus.
    public var isQuiet: Bool
    /// The calendar's time.
    public var now: WallTime
    /// A message of a catch-up that is older than this is listed without a sound.
    public var lateAfter: Duration

    /// Describes a state that allows a banner.
    ///
    /// - Parameters:
    ///   - me: the signed-in user.
    ///   - settings: the person's permissions.
    ///   - now: the calendar's time.
    public init(me: UserID?, settings: NotificationSettings, now: WallTime) {
        self.me = me
        self.settings = settings
        self.now = now
        read = 0
        before = 0
        shown = .never
        onScreen = nil
        channelMute = .none
        senderMute = .none
        isQuiet = false
        lateAfter = .seconds(300)
    }
}
