/// The result of recording an entry.
public enum Recorded: Hashable, Sendable {
    /// It is durable and will be dispatched.
    case accepted
    /// An entry with this id exists already; only the count of duplicates was written.
    case duplicate
}
