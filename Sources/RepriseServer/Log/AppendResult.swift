import RepriseCore
package import RepriseWire

/// The result of one message of a batch, once the batch is durable.
package enum AppendResult: Hashable, Sendable {
    /// Stored; subscribers get the event.
    case stored(ServerFrame.Event)
    /// The deletion of a message that was never stored: `target` is stored in its place, deleted,
    /// then the `deletion`.
    case buried(target: ServerFrame.Event, deletion: ServerFrame.Event)
    /// The same user has already stored a message with this id in this channel, with this sequence.
    /// The body is not compared: the first one stays.
    case duplicate(seq: Int64)
    /// Not stored; the rest of the batch is unaffected. `conflict` for an id that belongs to
    /// another user or channel, `predecessorMissing` for an `after` that is not stored,
    /// `noSuchMessage` and `forbidden` for an edit or a deletion, `channelFull` for a channel
    /// without sequences left: see `AppendRules`.
    case refused(RefusalCode, String)

    /// The events for subscribers, in order.
    package var events: [ServerFrame.Event] {
        var events: [ServerFrame.Event] = []
        forEachEvent { events.append($0) }
        return events
    }

    /// Calls `body` with each of ``events``: without an array for each message.
    func forEachEvent(_ body: (ServerFrame.Event) -> Void) {
        switch self {
        case .stored(let event): body(event)
        case .buried(let target, let deletion):
            body(target)
            body(deletion)
        case .duplicate, .refused: break
        }
    }

    /// The message's own event, if this call stored it.
    package var event: ServerFrame.Event? {
        switch self {
        case .stored(let event), .buried(_, let event): event
        case .duplicate, .refused: nil
        }
    }

    /// When ``event`` was stored.
    var time: WallTime? {
        switch self {
        case .stored(let event), .buried(_, let event): event.time
        case .duplicate, .refused: nil
        }
    }
}
