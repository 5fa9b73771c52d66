import RepriseCore
import RepriseWire

/// The user and channel of a publish request.
struct HTTPPublisher: Sendable {
    let channel: ChannelName
    /// nil where access is open.
    var user: UserID?
    /// Whether messages of others may be deleted too.
    var mayChangeOthers = false
    var isAdmin = false

    /// A message of this publisher.
    func message(
        _ id: EntryID, after: EntryID? = nil, change: MessageChange<EntryID>? = nil, body: [UInt8]
    ) -> NewMessage {
        NewMessage(
            channel: channel, id: id, after: after, change: change, from: user,
            mayChangeOthers: mayChangeOthers, isAdmin: isAdmin, body: body)
    }

    /// Messages that were read before, with the rights of this publisher.
    func allowing(_ messages: [NewMessage]) -> [NewMessage] {
        messages.map { message in
            var message = message
            message.mayChangeOthers = mayChangeOthers
            return message
        }
    }
}
