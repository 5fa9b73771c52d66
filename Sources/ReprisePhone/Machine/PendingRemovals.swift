/// Removals of notifications that an app has asked for: the system performs them a moment later,
/// and never where the app is suspended before.
struct PendingRemovals: Hashable, Sendable, Codable {
    enum Removal: Hashable, Sendable, Codable {
        case pending([String])
        case delivered([String])
    }

    private var waiting: [Removal] = []
    /// When they are performed.
    private(set) var due: Int64?

    /// Whether no more wait: they are performed at once.
    var isFull: Bool { waiting.count >= PhoneLimits.removals }

    mutating func asked(_ removal: Removal, at now: PhoneMoment) {
        waiting.append(removal)
        due = due ?? now.after(milliseconds: PhoneLimits.removalMilliseconds)
    }

    /// - Returns: those that are performed now.
    mutating func take() -> [Removal] {
        defer { lose() }
        return waiting
    }

    /// The app is suspended.
    mutating func lose() { (waiting, due) = ([], nil) }
}
