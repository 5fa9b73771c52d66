public import RepriseCore
public import RepriseWire

/// What a person has set about notices, as it holds on this device now.
///
/// It holds here from the moment at which it was set, whether the server was reached or not;
/// ``Standing`` says how far the server is.
public struct NoticeSettings: Hashable, Sendable {
    /// What the server knows of a setting.
    public enum Standing: Hashable, Sendable {
        /// The server has it.
        case told
        /// The server is told as soon as it can be reached.
        case waits
        /// The server has refused it, for this reason. It holds on this device; the entry is a dead
        /// letter.
        case refused(String)
    }

    /// A channel or a person put aside.
    public struct Mute: Hashable, Sendable {
        /// Until then; nil: for ever.
        public var until: WallTime?
        /// Whether what names the person comes through.
        ///
        /// Of this device alone: the server does not know of it.
        public var exceptMentions: Bool
        /// What the server knows of it.
        public var standing: Standing
    }

    /// The hours in which nothing should be heard.
    public struct Quiet: Hashable, Sendable {
        /// Which hours.
        public var hours: QuietHours
        /// What the server knows of them.
        public var standing: Standing
    }

    /// The channels put aside, also those whose time is over.
    public var channels: [ChannelName: Mute] = [:]
    /// The people put aside, in whatever channel they publish.
    public var people: [UserID: Mute] = [:]
    /// Of the person, on all devices.
    public var quiet: Quiet?
    /// Of this device alone, where they come before those of the person.
    public var deviceQuiet: Quiet?
    /// What the server knows of where this device is reached by pushes; nil: it is not to be
    /// reached.
    public var push: Standing?

    /// Nothing is set.
    public init() {}

    /// Whether these are hours in which nothing should be heard.
    ///
    /// - Parameter moment: what the calendar says.
    /// - Returns: by the hours of this device, or else by those of the person.
    public func isQuiet(at moment: WallTime) -> Bool {
        (deviceQuiet ?? quiet)?.hours.contains(moment) ?? false
    }

    /// Whether a channel is put aside, as a decision takes it.
    package func mute(of channel: ChannelName) -> NoticeState.Mute {
        channels[channel]?.state ?? .none
    }

    /// Whether a person is put aside, as a decision takes it.
    package func mute(of person: UserID?) -> NoticeState.Mute {
        person.flatMap { people[$0]?.state } ?? .none
    }

    /// Into what the extension reads.
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
    /// As the door's decisions ask.
    var preferences: NoticePreferences {
        var preferences = NoticePreferences()
        preferences.channelMute = { mute(of: $0) }
        preferences.senderMute = { mute(of: $0) }
        preferences.isQuiet = { isQuiet(at: $0) }
        preferences.mirror = { write(to: &$0) }
        return preferences
    }
}
