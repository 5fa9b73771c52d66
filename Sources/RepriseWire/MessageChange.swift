/// A message's change to an earlier one of its channel.
///
/// A publisher names the earlier one by its id, because its sequence may not be known yet; an event
/// names it by its sequence.
public enum MessageChange<Target: Hashable & Sendable>: Hashable, Sendable {
    /// Replaces its body.
    case edits(Target)
    /// Blanks its body.
    case deletes(Target)

    /// The earlier message.
    public var target: Target {
        switch self {
        case .edits(let target), .deletes(let target): target
        }
    }
}
