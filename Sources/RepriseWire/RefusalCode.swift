/// Why the server refuses a publish or a subscribe, without closing the connection.
public struct RefusalCode: Hashable, Sendable, CustomStringConvertible {
    /// The name on the wire.
    public let name: String

    /// Takes a name.
    public init(_ name: String) { self.name = name }

    /// Whether the same request may succeed later.
    ///
    /// An unknown code counts as permanent.
    public var isTemporary: Bool { Self.temporary.contains(name) }

    private static let temporary: Set<String> = [
        "unavailable", "rateLimited", "overloaded", "predecessorMissing",
    ]

    /// The name.
    public var description: String { name }
}

extension RefusalCode {
    /// The body is larger than ``WireLimits/bodyBytes``.
    public static let tooLarge = RefusalCode("tooLarge")
    /// The body is not JSON.
    public static let malformed = RefusalCode("malformed")
    /// The channel's name violates the rule.
    public static let badChannelName = RefusalCode("badChannelName")
    /// The id violates the rule.
    public static let badID = RefusalCode("badID")
    /// Another user or channel has the id: publish the message with a fresh one.
    public static let conflict = RefusalCode("conflict")
    /// More channels than ``WireLimits/channelsPerConnection``.
    public static let tooManyChannels = RefusalCode("tooManyChannels")
    /// An edit or a deletion of a message that the channel does not have.
    public static let noSuchMessage = RefusalCode("noSuchMessage")
    /// Not allowed for this user, or the channel does not exist.
    public static let forbidden = RefusalCode("forbidden")
    /// The server could not store it, or that is unknown: retry with the same id.
    public static let unavailable = RefusalCode("unavailable")
    /// Too many at once; wait for `retryAfter`.
    public static let rateLimited = RefusalCode("rateLimited")
    /// The server is at one of its own limits; wait for `retryAfter`.
    public static let overloaded = RefusalCode("overloaded")
    /// The message named in `after` is not stored yet; send it first.
    public static let predecessorMissing = RefusalCode("predecessorMissing")
}
