package import RepriseWire

/// What became of one message of a batch, once the batch is durable.
package enum AppendResult: Hashable, Sendable {
    /// It is stored; the event is what subscribers get.
    case stored(ServerFrame.Event)
    /// It is the deletion of a message that had not come yet: in that one's place stands `target`,
    /// deleted, and behind it the `deletion`.
    case buried(target: ServerFrame.Event, deletion: ServerFrame.Event)
    /// The same user's message with this id was stored in this channel before, with this sequence.
    /// The body is not compared: the first one stands.
    case duplicate(seq: Int64)
    /// It is not stored, and the rest of the batch is not touched by that: `conflict` for an id
    /// that belongs to another user or another channel, `predecessorMissing` for an `after` that is
    /// not stored, `noSuchMessage` and `forbidden` for an edit or a deletion: see `AppendRules`.
    case refused(RefusalCode, String)

    /// What subscribers get, in order.
    package var events: [ServerFrame.Event] {
        switch self {
        case .stored(let event): [event]
        case .buried(let target, let deletion): [target, deletion]
        case .duplicate, .refused: []
        }
    }

    /// The message's own event, if it was stored now.
    package var event: ServerFrame.Event? {
        switch self {
        case .stored(let event), .buried(_, let event): event
        case .duplicate, .refused: nil
        }
    }
}
