public import RepriseCore

/// All that a decision about a notice depends on beside the message itself.
public struct NoticeState: Hashable, Sendable {
    /// Whether a person has put a channel or another person aside.
    public enum Mute: Hashable, Sendable {
        /// Not.
        case none
        /// Until then; what names the person comes through if `exceptMentions`.
        case until(WallTime, exceptMentions: Bool)
    }

    /// What is already in front of the person.
    public enum Shown: String, Hashable, Sendable, CaseIterable {
        /// Nothing of this message.
        case never
        /// Its banner stands in the notification centre.
        case standing
        /// Its banner stood there, and was tapped, dismissed or taken away.
        case gone
    }

    /// Who is signed in; nil: nobody has to sign in.
    public var me: UserID?
    /// Up to where the person has read the channel.
    public var read: Int64
    /// Up to where messages were there before the person came: before joining, or before the
    /// channel's log began anew.
    public var before: Int64
    /// What of this message is already shown.
    public var shown: Shown
    /// The channel that is on the screen of an app in the foreground; nil: another screen, or the
    /// background.
    public var onScreen: ChannelName?
    /// What the person allows, in the system's settings.
    public var settings: NotificationSettings
    /// Whether the channel is put aside.
    public var channelMute: Mute
    /// Whether the sender is put aside.
    public var senderMute: Mute
    /// Whether nothing should be heard now: by quiet hours of the app's own, or because the app
    /// knows of a Focus.
    public var isQuiet: Bool
    /// What the calendar says.
    public var now: WallTime
    /// What was caught up is listed without a sound if it is older than this.
    public var lateAfter: Duration

    /// Describes a state in which nothing speaks against a banner.
    ///
    /// - Parameters:
    ///   - me: who is signed in.
    ///   - settings: what the person allows.
    ///   - now: what the calendar says.
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
