public import RepriseCore
public import RepriseWire

extension Notices {
    /// What can be set about notices.
    ///
    /// The defaults suit an app.
    public struct Configuration: Sendable {
        /// How the server is told of settings; nil: they hold on this device, and wait.
        public var transport: (any HTTPTransport)?
        /// What the server takes this device for: `ios`, `macos`, at most 32 bytes; it says by
        /// which service it is reached.
        public var platform = "ios"
        /// Whose name is asked for.
        public enum Named: Hashable, Sendable {
            /// A channel, as a group.
            case channel(ChannelName)
            /// Who has published a message.
            case person(UserID)
        }

        /// The names that people see; nil: it has none.
        ///
        /// It is called in a transaction, and must not wait.
        public var names: @Sendable (Named) -> String? = { named in
            switch named {
            case .channel: nil
            case .person(let user): user.text
            }
        }
        /// The category of banners that name none themselves, and so their actions.
        public var category: String?
        /// The action of a notification that sends what was typed as a message of the same channel.
        public var replyAction = "reply"
        /// The action of a notification that says that the person has read it.
        public var readAction = "read"
        /// What is published for a reply.
        public var reply: @Sendable (_ text: String) -> [UInt8] = { NoticeReply.body($0) }
        /// Of what came at once in a channel, so many of the newest are shown; the others count.
        ///
        /// 1 to 50.
        public var bannersPerChannel = 10
        /// What was caught up is listed without a sound if it is older than this.
        public var lateAfter: Duration = .seconds(300)
        /// How long a tap that nobody could be shown is worth showing; nil: for ever.
        public var timeToLive: Duration?
        /// Whether the person has asked the system for silence (a Focus), as far as the app may
        /// know; then it is as in quiet hours.
        ///
        /// It is asked at each decision, and must not wait. Where an app does not know, the system
        /// silences by itself.
        public var isFocused: @Sendable () -> Bool = { false }
        /// Whether a message names the person who is signed in, so that it comes through some
        /// mutes.
        public var isMention: @Sendable (_ json: [UInt8]) -> Bool = { _ in false }

        package var timekeeper: any Timekeeper = SystemTimekeeper()
        /// What the person has set, by now.
        package var preferences: @Sendable () -> NoticePreferences = { NoticePreferences() } {
            didSet { hasOwnPreferences = true }
        }
        /// Whether they come from somewhere else than the door's settings.
        private(set) var hasOwnPreferences = false
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// The defaults.
        public init() {}

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
        package func check() throws {
            guard (1...50).contains(bannersPerChannel) else {
                throw RepriseError(
                    .badConfiguration, "bannersPerChannel is \(bannersPerChannel).",
                    remedy: "It is 1 to 50.")
            }
            guard lateAfter >= .zero, timeToLive ?? .seconds(1) > .zero else {
                throw RepriseError(
                    .badConfiguration, "lateAfter or timeToLive is negative.",
                    remedy: "Give a duration that has not passed yet.")
            }
        }
    }
}

/// A reply that was typed on a notification, as the body of a message.
public enum NoticeReply {
    /// `{"text": …}`.
    public static func body(_ text: String) -> [UInt8] {
        var writer = JSONWriter(reserving: text.utf8.count + 16)
        writer.object { json in
            json.key("text")
            json.string(text)
        }
        return writer.bytes
    }
}
