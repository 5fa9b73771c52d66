/// The bounds of both sides of the wire; `docs/limits/protocol.md` lists each with its consequence.
public enum WireLimits {
    /// The most bytes a message body may have, as JSON text.
    public static let bodyBytes = 65_536
    /// The most bytes a frame may have, in either direction.
    ///
    /// Larger: close code 1009.
    public static let frameBytes = 1_048_576
    /// The most bytes a frame of a device, or a message in fragments, may have before `welcome`.
    ///
    /// Larger: close code 1009.
    public static let bytesBeforeWelcome = 16_384
    /// The most bytes a channel's name may have.
    public static let channelNameBytes = 128
    /// The most bytes an epoch may have.
    public static let epochBytes = 64
    /// How deep objects and arrays may nest in a frame or a body.
    public static let nestingDepth = 64
    /// The most ranges a coverage may have.
    ///
    /// At the bound an event that would open a new one is not applied.
    public static let coverageRanges = 256
    /// The most channels one connection may be subscribed to, and one `subscribe` frame may name.
    public static let channelsPerConnection = 1_000
    /// The greatest sequence: the greatest integer that JSON numbers hold exactly everywhere (2⁵³ −
    /// 1).
    public static let greatestSequence: Int64 = 9_007_199_254_740_991
    /// The most bytes of text in a `message` or `client` field; longer text is cut.
    public static let textBytes = 256
    /// The most bytes a token may have.
    public static let tokenBytes = 8_192
    /// The most users in a subscription's positions, and the most members whose receipts are sent
    /// to all of a channel.
    public static let positions = 100
    /// The greatest count of unread messages.
    public static let unreadCounted: Int64 = 10_000
    /// Typing ends this long after the last `typing`, on both sides.
    public static let typing: Duration = .seconds(10)
    /// The shortest interval of `typing` frames; earlier ones are ignored.
    public static let typingAgain: Duration = .seconds(4)
    /// The most channels whose presence a connection watches.
    public static let watchedChannels = 50
    /// The most members of a channel whose presence is told, and the most that a watch names.
    public static let watchedUsers = 100
    /// The most users in a `presence` of the server.
    public static let presentUsers = 1_000
    /// The shortest interval of a connection's changes of presence.
    public static let presence: Duration = .seconds(1)
    /// The server's timeout for `hello` after the upgrade.
    public static let handshake: Duration = .seconds(10)
    /// The interval of the server's heartbeats.
    public static let heartbeat: Duration = .seconds(25)
}
