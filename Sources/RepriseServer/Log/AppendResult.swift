package import RepriseWire

/// What became of one message of a batch, once the batch is durable.
package enum AppendResult: Hashable, Sendable {
    /// It is stored; the event is what subscribers get.
    case stored(ServerFrame.Event)
    /// Its id was stored in this channel before, with this sequence. The body is not compared: the first one stands.
    case duplicate(seq: Int64)
    /// It is not stored, and the rest of the batch is not touched by that: `conflict` for an id that belongs to another
    /// channel, `predecessorMissing` for an `after` that is not stored.
    case refused(RefusalCode, String)
}
