public import RepriseCore
public import RepriseWire

/// A message as a list shows it: with its latest edit, or blank if deleted.
///
/// ```swift
/// for message in try await general.messages(limit: 50) {
///     print(message.isDeleted ? "(deleted)" : message.json)
/// }
/// ```
public struct ChannelMessage: Identifiable, Hashable, Sendable {
    /// The status of a message of this device.
    public enum Status: Hashable, Sendable {
        /// Waits for the server.
        case pending
        /// The server has it; also the status of every other user's message.
        case sent
        /// On a device of another user.
        case delivered
        /// Another user has read it.
        case read
        /// The server has refused it.
        case failed(reason: String)
    }

    /// Its identity, the same from the moment of recording.
    public let id: EntryID
    /// Its position in the channel's log; nil until the server has it.
    public let seq: Int64?
    /// Its author; nil on a server without users, and for a message that the server does not have
    /// yet.
    public let from: UserID?
    /// When the server stored it; for a message that the server does not have yet, when it was
    /// recorded.
    public let time: WallTime
    /// JSON text of its latest edit, otherwise its own; `null` if deleted.
    public let body: [UInt8]
    /// Whether an edit has replaced its first body.
    public let isEdited: Bool
    /// Whether it is deleted: then ``body`` is `null`.
    public let isDeleted: Bool
    /// Whether the user of this device published it.
    public let isMine: Bool
    /// Whether it is sent, delivered, read or refused.
    public let status: Status

    /// The body as text.
    public var json: String { String(decoding: body, as: UTF8.self) }
}
