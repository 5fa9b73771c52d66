public import RepriseCore
public import RepriseWire

/// A message of a channel, as delivered to a reader.
///
/// ```swift
/// try await general.read("inbox") { message in
///     print(message.seq, message.json)
/// }
/// ```
public struct Message: Identifiable, Hashable, Sendable {
    /// The channel that it was published in.
    public let channel: ChannelName
    /// Its position in the channel's log.
    public let seq: Int64
    /// Its identity, the same on every path and after every repetition.
    public let id: EntryID
    /// When the server stored it.
    public let time: WallTime
    /// Its author; nil on a server without users.
    public let from: UserID?
    /// Its change to an earlier message, by sequence; nil for a message of its own.
    ///
    /// An edit or a deletion is a message like others: it has an id and a sequence, and is
    /// acknowledged.
    public let change: MessageChange<Int64>?
    /// Whether it has been deleted: then the body is `null`.
    public let isDeleted: Bool
    /// JSON text, byte for byte as it was published, at most ``RepriseWire/WireLimits/bodyBytes``.
    public let body: [UInt8]
    /// How often this reader has got it, this time included.
    ///
    /// More than 1: an earlier attempt failed, or its result is unknown because the process died in
    /// it.
    public let attempt: Int

    /// The body as text.
    public var json: String { String(decoding: body, as: UTF8.self) }

    package init(
        channel: ChannelName, seq: Int64, id: EntryID, time: WallTime, from: UserID? = nil,
        change: MessageChange<Int64>? = nil, isDeleted: Bool = false, body: [UInt8], attempt: Int
    ) {
        self.channel = channel
        self.seq = seq
        self.id = id
        self.time = time
        self.from = from
        self.change = change
        self.isDeleted = isDeleted
        self.body = body
        self.attempt = attempt
    }
}
