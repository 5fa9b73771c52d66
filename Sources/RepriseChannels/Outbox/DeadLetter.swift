public import RepriseCore
public import RepriseWire

/// A message that will not be sent, unless it is retried.
public struct DeadLetter: Identifiable, Hashable, Sendable {
    /// The message's id, also when it is sent again.
    public let id: EntryID
    /// The channel that it was published to.
    public let channel: ChannelName
    /// Its change to an earlier message; nil for a message of its own.
    public let change: MessageChange<EntryID>?
    /// JSON text; `null` for a deletion.
    public let body: [UInt8]
    /// When it was published.
    public let recordedAt: WallTime
    /// The server's refusal; nil if the server did not refuse it, and `reason` tells what happened.
    public let code: RefusalCode?
    /// The reason, for people.
    public let reason: String
    /// When the server refused it.
    public let refusedAt: WallTime?

    /// The body as text.
    public var json: String { String(decoding: body, as: UTF8.self) }
}
