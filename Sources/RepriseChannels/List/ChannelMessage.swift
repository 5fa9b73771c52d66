public import RepriseCore
public import RepriseWire

/// A message as a list shows it: with its latest edit, or blank if it was deleted.
///
/// ```swift
/// for message in try await general.messages(limit: 50) {
///     print(message.isDeleted ? "(deleted)" : message.json)
/// }
/// ```
public struct ChannelMessage: Identifiable, Hashable, Sendable {
    /// How far a message of this device has come.
    public enum Status: Hashable, Sendable {
        /// It waits for the server.
        case pending
        /// The server has it; so it is for every message of somebody else.
        case sent
        /// It is on a device of somebody else.
        case delivered
        /// Somebody else has read it.
        case read
        /// The server will not have it.
        case failed(reason: String)
    }

    /// Its identity, the same from the moment when it is recorded.
    public let id: EntryID
    /// Its position in the channel's log; nil until the server has it.
    public let seq: Int64?
    /// Who published it; nil where the server does not ask who is who, and for what it does not
    /// have yet.
    public let from: UserID?
    /// When the server stored it; for what it does not have yet, when it was recorded.
    public let time: WallTime
    /// JSON text of its latest edit, or else of itself; `null` if it is deleted.
    public let body: [UInt8]
    /// Whether an edit has taken the place of its first body.
    public let isEdited: Bool
    /// Whether it is deleted.
    public let isDeleted: Bool
    /// Whether the user of this device published it.
    public let isMine: Bool
    /// How far it has come.
    public let status: Status

    /// The body as text.
    public var json: String { String(decoding: body, as: UTF8.self) }

    package init(
        id: EntryID, seq: Int64?, from: UserID?, time: WallTime, body: [UInt8],
        isEdited: Bool = false, isDeleted: Bool = false, isMine: Bool = false,
        status: Status = .sent
    ) {
        self.id = id
        self.seq = seq
        self.from = from
        self.time = time
        self.body = body
        self.isEdited = isEdited
        self.isDeleted = isDeleted
        self.isMine = isMine
        self.status = status
    }
}
