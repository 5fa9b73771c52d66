public import Foundation
package import Logging
public import RepriseCore
public import RepriseWire

extension Notices {
    /// Options of notices.
    ///
    /// The defaults suit an app.
    public struct Configuration: Sendable {
        /// Sends settings to the server; nil: they apply on this device, and wait.
        public var transport: (any HTTPTransport)?
        /// The device's platform for the server: `ios`, `macos`, at most 32 bytes; it selects the
        /// push service.
        public var platform = "ios"
        /// The entity whose name is requested.
        public enum Named: Hashable, Sendable {
            /// A channel, as a group.
            case channel(ChannelName)
            /// The sender of a message.
            case person(UserID)
        }

        /// The app's own display names; nil: of a channel its title, of a person the name that the
        /// message says, else the id.
        ///
        /// A push is written by the server, which does not know them. Called in a transaction; it
        /// must not block.
        public var names: @Sendable (Named) -> String? = { _ in nil }
        /// Whether a message of this author may be time-sensitive, if it asks for that.
        ///
        /// It breaks through a Focus then; by default none may. Called in a transaction; it must
        /// not block. Of a push the server decides: the author is an owner of the channel.
        public var mayInterrupt: @Sendable (ChannelName, UserID?) -> Bool = { _, _ in false }
        /// The category of banners that name none themselves, and so their actions.
        public var category: String?
        /// The action that publishes the typed text as a message of the same channel.
        public var replyAction = "reply"
        /// The action that marks the message as read.
        public var readAction = "read"
        /// The body that is published for a reply, as JSON; see ``setReply(encoder:_:)``.
        ///
        /// What it throws makes the reply a dead letter.
        public var rawJSONReply: @Sendable (_ text: String) throws -> [UInt8] = {
            NoticeReply.body($0)
        }
        /// The newest messages of one batch of a channel that are shown; the others only count.
        ///
        /// 1 to 50.
        public var bannersPerChannel = 10
        /// A caught-up message older than this is listed without a sound.
        public var lateAfter: Duration = .seconds(300)
        /// How long a tap that could not be shown stays valid; nil: for ever.
        public var timeToLive: Duration?
        /// Whether a Focus is active, as far as the app may know; it acts like quiet hours.
        ///
        /// Called at each decision; it must not block. Where an app does not know, the system
        /// silences by itself.
        public var isFocused: @Sendable () -> Bool = { false }
        /// Whether a message, as JSON, counts as a mention of the signed-in user on this device,
        /// beside those that name the user in `notice.mentions`; see
        /// ``setMention(in:decoder:_:)``.
        public var isRawJSONMention: @Sendable (_ json: [UInt8]) -> Bool = { _ in false }

        package var logger = Logger.silent
        /// The clocks; a test sets a `ManualClock` of RepriseTesting.
        public var timekeeper: any Timekeeper = SystemTimekeeper()
        /// The person's current settings.
        package var preferences: @Sendable () -> NoticePreferences = { NoticePreferences() } {
            didSet { hasOwnPreferences = true }
        }
        /// Whether they come from elsewhere than the feature's settings.
        private(set) var hasOwnPreferences = false
        /// Draws from 0..<1.
        package var jitter: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// The defaults.
        public init() {}

        /// Publishes a reply as a body of the app's own type; else it is `{"text": …}`.
        ///
        /// ```swift
        /// notices.setReply { Note(text: $0) }
        /// ```
        ///
        /// - Parameters:
        ///   - encoder: makes the encoder.
        ///   - body: the body of a typed text; at most 65,536 bytes of JSON.
        public mutating func setReply<Body: Encodable & SendableMetatype>(
            encoder: @escaping @Sendable () -> JSONEncoder = { JSONEncoder() },
            _ body: @escaping @Sendable (_ text: String) -> Body
        ) {
            rawJSONReply = { [UInt8](try encoder().encode(body($0))) }
        }

        /// Says which other messages count as mentions of the signed-in user on this device.
        ///
        /// ```swift
        /// notices.setMention(in: Note.self) { $0.text.contains("@ada") }
        /// ```
        ///
        /// - Parameters:
        ///   - type: the type of a message's body; one that is no such body mentions nobody.
        ///   - decoder: makes the decoder.
        ///   - isMention: called at each decision; it must not block.
        public mutating func setMention<Body: Decodable & SendableMetatype>(
            in type: Body.Type,
            decoder: @escaping @Sendable () -> JSONDecoder = { JSONDecoder() },
            _ isMention: @escaping @Sendable (Body) -> Bool
        ) {
            isRawJSONMention = { json in
                (try? decoder().decode(Body.self, from: Data(json))).map(isMention) ?? false
            }
        }

        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
        package func check() throws {
            guard (1...NoticeLimits.banners).contains(bannersPerChannel) else {
                throw RepriseError(
                    .badConfiguration, "bannersPerChannel is \(bannersPerChannel).",
                    remedy: "It is 1 to \(NoticeLimits.banners).")
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
