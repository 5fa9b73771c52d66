public import RepriseChannels
public import RepriseCore
public import RepriseWire

/// The body of a message, as far as this version of the app can read it.
public enum MessageContent<Body: Sendable>: Sendable {
    /// The body, with its latest edit in a list.
    case body(Body)
    /// It was deleted.
    case deleted
    /// The body is not what this version of the app decodes; `rawJSON` has it.
    case unreadable
}

extension MessageContent: Equatable where Body: Equatable {}
extension MessageContent: Hashable where Body: Hashable {}

/// A message as a reader gets it.
public struct ReceivedMessage<Body: Sendable>: Identifiable, Sendable {
    /// The message with the bytes of its body.
    let message: Message
    /// Its body; never `unreadable`, which is a dead letter instead.
    public let content: MessageContent<Body>

    /// Its identity, the same on every path and after every repetition.
    public var id: EntryID { message.id }
    /// Its position in the channel's log.
    public var seq: Int64 { message.seq }
    /// When the server stored it.
    public var time: WallTime { message.time }
    /// Its author; nil on a server without users.
    public var from: UserID? { message.from }
    /// Its change to an earlier message, by sequence; nil for a message of its own.
    public var change: MessageChange<Int64>? { message.change }
    /// How often this reader has got it, this time included.
    public var attempt: Int { message.attempt }
    /// The body as JSON, byte for byte as it was published.
    public var rawJSON: String { message.json }

    /// - Throws: `DispatchFailure.permanent` for a body that cannot be decoded.
    init(_ message: Message, _ codec: BodyCodec<Body>) throws {
        self.message = message
        if message.isDeleted || message.isDeletion {
            content = .deleted
        } else {
            do {
                content = .body(try codec.decode(message.body))
            } catch {
                throw DispatchFailure.permanent("\(Unreadable.prefix)\(error)")
            }
        }
    }
}

/// A message as a list shows it: with its latest edit.
public struct ListedMessage<Body: Sendable>: Identifiable, Sendable {
    private let message: ChannelMessage
    /// Its body.
    public let content: MessageContent<Body>

    /// Its identity, the same from the moment of recording.
    public var id: EntryID { message.id }
    /// Its position in the channel's log; nil until the server has it.
    public var seq: Int64? { message.seq }
    /// When the server stored it; until then, when it was recorded.
    public var time: WallTime { message.time }
    /// Its author; nil on a server without users, and until the server has it.
    public var from: UserID? { message.from }
    /// Whether an edit has replaced its first body.
    public var isEdited: Bool { message.isEdited }
    /// Whether the user of this device published it.
    public var isMine: Bool { message.isMine }
    /// What has become of it.
    public var status: ChannelMessage.Status { message.status }
    /// The body as JSON, byte for byte as it was published.
    public var rawJSON: String { message.json }

    init(_ message: ChannelMessage, _ codec: BodyCodec<Body>) {
        self.message = message
        if message.isDeleted {
            content = .deleted
        } else {
            let body = try? codec.decode(message.body)
            content = body.map { .body($0) } ?? .unreadable
        }
    }
}

/// How a dead letter says that its body could not be decoded.
enum Unreadable {
    static let prefix = "unreadable: "
}

extension Message {
    fileprivate var isDeletion: Bool {
        if case .deletes = change { true } else { false }
    }
}
