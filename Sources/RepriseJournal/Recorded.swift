/// What became of an arrival.
public enum Recorded: Hashable, Sendable {
    /// It is durable and will be handed over.
    case accepted
    /// An entry with this id is there already; nothing was written but that it came again.
    case duplicate
}
