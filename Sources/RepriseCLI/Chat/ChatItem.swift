import RepriseChannels
import RepriseCore

/// A message as the chat shows it.
struct ChatItem: Hashable, Sendable, Identifiable {
    let id: EntryID
    /// Nil until the server has it.
    var seq: Int64?
    var author: String
    var text: String
    var time: WallTime
    var isMine: Bool
    var isEdited = false
    var isDeleted = false
    var status = ChannelMessage.Status.sent
}

/// Everything that the chat shows but the line that is being typed.
struct ChatSnapshot: Hashable, Sendable {
    var channel: String
    var user: String
    var items: [ChatItem] = []
    /// The connection's state, for people.
    var connection = "not connected"
    var isConnected = false
    /// Of a catch-up: how much of how much.
    var catchUp: Progress?
    /// The channel's own trouble, for people.
    var trouble: String?
    var typists: [String] = []
    /// The others' presence, for people; nil where the server does not offer it.
    var presence: String?
    /// How many messages of others the person has not read, on whichever device.
    var unread: Int64 = 0
    /// How many of them mention the person.
    var mentions: Int64 = 0
    /// The divider is before the first message of others behind this sequence.
    var divider: Int64?
    /// How many messages and changes wait for the server.
    var waiting = 0
    /// The messages and changes that the server has refused for good.
    var dead = 0
    /// The output of the last command.
    var notice: [String] = []

    struct Progress: Hashable, Sendable {
        var received: Int64
        var total: Int64
    }
}
