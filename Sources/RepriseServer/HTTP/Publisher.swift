import RepriseCore
import RepriseWire

/// In whose name, and where, a request publishes.
struct Publisher: Sendable {
    let channel: ChannelName
    /// nil where the server does not ask who is who.
    var user: UserID?
    /// Whether messages of others may be deleted too.
    var mayChangeOthers = false

    /// A message of this publisher.
    func message(
        _ id: EntryID, after: EntryID? = nil, change: MessageChange<EntryID>? = nil, body: [UInt8]
    ) -> NewMessage {
        NewMessage(
            channel: channel, id: id, after: after, change: change, from: user,
            mayChangeOthers: mayChangeOthers, body: body)
    }
}
