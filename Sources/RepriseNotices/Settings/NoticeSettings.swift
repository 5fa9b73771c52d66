public import RepriseCore
public import RepriseWire

/// A person's notification settings, as they apply on this device now.
///
/// They apply at once, whether the server was reached or not; ``Status`` is the server's state.
public struct NoticeSettings: Hashable, Sendable {
    /// The server's state of a setting.
    public enum Status: Hashable, Sendable {
        /// The server has it.
        case told
        /// It is sent as soon as the server can be reached.
        case waits
        /// The server has refused it, for this reason. It applies on this device; the entry is a
        /// dead letter.
        case refused(String)
    }

    /// The mute of a channel or a person.
    public struct Mute: Hashable, Sendable {
        /// Until then; nil: for ever.
        public var until: WallTime?
        /// Whether mentions of the signed-in user come through.
        public var exceptMentions: Bool
        /// The server's state of it.
        public var status: Status
    }

    /// Quiet hours.
    public struct Quiet: Hashable, Sendable {
        /// Which hours.
        public var hours: QuietHours
        /// The server's state of them.
        public var status: Status
    }

    /// The muted channels, also those whose mute has expired.
    public var channels: [ChannelName: Mute] = [:]
    /// The people muted in all channels.
    public var people: [UserID: Mute] = [:]
    /// Of the person, on all devices.
    public var quiet: Quiet?
    /// Of this device alone; they take precedence over the person's.
    public var deviceQuiet: Quiet?
    /// The server's state of the push registration; nil: not registered.
    public var push: Status?
    /// The server's state of the silence while the person is active on another device; nil: off.
    public var silentElsewhere: Status?

    /// No settings.
    public init() {}

    /// Whether a moment is within quiet hours.
    ///
    /// - Parameter moment: the wall clock.
    /// - Returns: by the hours of this device, or else by those of the person.
    public func isQuiet(at moment: WallTime) -> Bool {
        (deviceQuiet ?? quiet)?.hours.contains(moment) ?? false
    }

    /// The mute of a channel, for a decision.
    package func mute(of channel: ChannelName) -> NoticeState.Mute {
        channels[channel]?.state ?? .none
    }

    /// The mute of a person, for a decision.
    package func mute(of person: UserID?) -> NoticeState.Mute {
        person.flatMap { people[$0]?.state } ?? .none
    }

    /// Writes the settings into the mirror.
    package func write(to mirror: inout NoticeMirror) {
        mirror.channelMutes = Self.mirrored(channels) { $0.text }
        mirror.senderMutes = Self.mirrored(people) { $0.text }
        mirror.quiet = (deviceQuiet ?? quiet).map {
            [$0.hours.startText, $0.hours.endText, $0.hours.zone]
        }
    }

    private static func mirrored<Name>(
        _ mutes: [Name: Mute], _ text: (Name) -> String
    ) -> [String: NoticeMirror.Mute] {
        var mirrored: [String: NoticeMirror.Mute] = [:]
        for (name, mute) in mutes {
            mirrored[text(name)] = NoticeMirror.Mute(
                until: mute.until?.milliseconds, exceptMentions: mute.exceptMentions)
        }
        return mirrored
    }
}

extension NoticeSettings.Mute {
    var state: NoticeState.Mute { .until(until ?? .forever, exceptMentions: exceptMentions) }
}

extension NoticeSettings {
    /// The settings for the feature's decisions.
    var preferences: NoticePreferences {
        var preferences = NoticePreferences()
        preferences.channelMute = { mute(of: $0) }
        preferences.senderMute = { mute(of: $0) }
        preferences.isQuiet = { isQuiet(at: $0) }
        preferences.isSilentElsewhere = silentElsewhere != nil
        preferences.mirror = { write(to: &$0) }
        return preferences
    }
}
