package import RepriseCore

/// Why the server refuses a publish or a subscribe, without closing the connection.
public struct RefusalCode: Hashable, Sendable, CustomStringConvertible {
    /// The name on the wire.
    public let name: String

    /// Takes a name.
    public init(_ name: String) { self.name = name }

    /// Whether the same request may succeed later.
    ///
    /// An unknown code counts as permanent.
    public var isTemporary: Bool { Known(rawValue: name)?.isTemporary ?? false }

    /// The name.
    public var description: String { name }
}

extension RefusalCode {
    /// The codes of this version, in the order of `docs/protocol.md`.
    package enum Known: String, CaseIterable, Sendable {
        case tooLarge, malformed, badChannelName, badID, conflict, noSuchMessage, tooManyChannels
        case channelFull, forbidden, unavailable, rateLimited, overloaded, predecessorMissing
        case tooManyMembers, notOffered

        var isTemporary: Bool {
            switch self {
            case .unavailable, .rateLimited, .overloaded, .predecessorMissing: true
            case .tooLarge, .malformed, .badChannelName, .badID, .conflict, .noSuchMessage,
                .tooManyChannels, .channelFull, .forbidden, .tooManyMembers, .notOffered:
                false
            }
        }

        package var reference: CodeReference {
            let (meaning, remedy) = text
            return CodeReference(rawValue, meaning, isTemporary ? remedy : "permanent: " + remedy)
        }

        private var text: (meaning: LimitText, remedy: String) {
            switch self {
            case .tooLarge: ("the body exceeds \(WireLimits.bodyBytes) bytes", "send less")
            case .malformed:
                ("only over HTTP: the body is not JSON; elsewhere that is a 4200", "correct it")
            case .badChannelName: ("the channel's name violates the rule", "correct it")
            case .badID: ("the id violates the rule", "correct it")
            case .conflict:
                (
                    "another user or channel has the id",
                    "[publish with a fresh id](#ownership-of-ids)"
                )
            case .noSuchMessage:
                ("a change of a message that is missing or cannot be changed so", "drop it")
            case .tooManyChannels:
                (
                    "more than \(WireLimits.channelsPerConnection) channels on this connection",
                    "unsubscribe from another channel first"
                )
            case .channelFull:
                (
                    "the channel has reached sequence \(WireLimits.greatestSequence)",
                    "publish in another channel"
                )
            case .forbidden: ("not for this user, or no such channel", "do not repeat it")
            case .unavailable:
                (
                    "not stored, or unknown whether",
                    "wait for `retryAfter`, then repeat with the same id"
                )
            case .rateLimited: ("too many requests", "wait for `retryAfter`, then repeat")
            case .overloaded:
                ("the server is at one of its limits", "wait for `retryAfter`, then repeat")
            case .predecessorMissing:
                (
                    "the message named in `after` is not stored",
                    """
                    send that one first, and this one after its answer; without `after`, if that \
                    one was published or refused for good
                    """
                )
            case .tooManyMembers:
                (
                    """
                    only in `presence`: that of more than \(WireLimits.watchedUsers) members is \
                    asked for
                    """,
                    "name the users whom you show"
                )
            case .notOffered: ("the server does not tell presence", "do without it")
            }
        }
    }

    init(_ known: Known) { self.init(known.rawValue) }

    /// The body is larger than ``WireLimits/bodyBytes``.
    public static let tooLarge = RefusalCode(Known.tooLarge)
    /// The body is not JSON.
    public static let malformed = RefusalCode(Known.malformed)
    /// The channel's name violates the rule.
    public static let badChannelName = RefusalCode(Known.badChannelName)
    /// The id violates the rule.
    public static let badID = RefusalCode(Known.badID)
    /// Another user or channel has the id: publish the message with a fresh one.
    public static let conflict = RefusalCode(Known.conflict)
    /// More channels than ``WireLimits/channelsPerConnection``.
    public static let tooManyChannels = RefusalCode(Known.tooManyChannels)
    /// The channel has used its ``WireLimits/greatestSequence``; publish in another one.
    public static let channelFull = RefusalCode(Known.channelFull)
    /// An edit or a deletion of a message that the channel does not have.
    public static let noSuchMessage = RefusalCode(Known.noSuchMessage)
    /// Not allowed for this user, or the channel does not exist.
    public static let forbidden = RefusalCode(Known.forbidden)
    /// The server could not store it, or that is unknown: retry with the same id.
    public static let unavailable = RefusalCode(Known.unavailable)
    /// Too many at once; wait for `retryAfter`.
    public static let rateLimited = RefusalCode(Known.rateLimited)
    /// The server is at one of its own limits; wait for `retryAfter`.
    public static let overloaded = RefusalCode(Known.overloaded)
    /// The channel has more than ``WireLimits/watchedUsers`` members: name the users.
    public static let tooManyMembers = RefusalCode(Known.tooManyMembers)
    /// The server does not tell presence.
    public static let notOffered = RefusalCode(Known.notOffered)
    /// The message named in `after` is not stored yet; send it first.
    public static let predecessorMissing = RefusalCode(Known.predecessorMissing)
}
