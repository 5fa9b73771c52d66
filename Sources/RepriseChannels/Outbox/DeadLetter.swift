public import RepriseCore
public import RepriseWire

/// A message that will not be sent, unless somebody asks for it.
public struct DeadLetter: Identifiable, Hashable, Sendable {
    /// The message's id, also when it is sent again.
    public let id: EntryID
    /// The channel it was meant for.
    public let channel: ChannelName
    /// What it would do to an earlier message; nil for a message of its own.
    public let change: MessageChange<EntryID>?
    /// JSON text; `null` for a deletion.
    public let body: [UInt8]
    /// When it was published.
    public let recordedAt: WallTime
    /// Why the server refused it; nil if it did not, and `reason` says what happened.
    public let code: RefusalCode?
    /// Why, for people.
    public let reason: String
    /// When the server refused it.
    public let refusedAt: WallTime?

    /// The body as text.
    public var json: String { String(decoding: body, as: UTF8.self) }
}
