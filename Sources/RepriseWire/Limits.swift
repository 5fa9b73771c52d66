/// The bounds that both sides of the wire keep; `docs/limits.md` lists each with what happens at
/// it.
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
    /// The greatest sequence: what a JSON number holds exactly everywhere (2⁵³ − 1).
    public static let greatestSequence: Int64 = 9_007_199_254_740_991
    /// The most bytes of text in a `message` or `client` field; what is longer is cut.
    public static let textBytes = 256
    /// The most bytes a token may have.
    public static let tokenBytes = 8_192
    /// The most users whose positions a subscription is told, and the most members whose receipts
    /// go to all of a channel.
    public static let positions = 100
    /// Unread messages are counted up to so many.
    public static let unreadCounted: Int64 = 10_000
    /// Typing ends after so long without a further `typing`, on both sides.
    public static let typing: Duration = .seconds(10)
    /// How often a client that goes on typing says so; more often is ignored.
    public static let typingAgain: Duration = .seconds(4)
    /// How long the server waits for `hello` after the upgrade.
    public static let handshake: Duration = .seconds(10)
    /// How often the server sends a heartbeat.
    public static let heartbeat: Duration = .seconds(25)
}
