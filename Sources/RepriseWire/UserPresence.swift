public import RepriseCore

/// Whether a user is there.
public enum PresenceState: String, Hashable, Sendable, CaseIterable {
    /// At least one device is connected and in use.
    case online
    /// All connected devices are idle or in the background.
    case idle
    /// No device is connected, or the user hides.
    case offline
}

/// A user, and whether he is there.
public struct UserPresence: Hashable, Sendable {
    /// The user.
    public var user: UserID
    /// Whether he is there.
    public var state: PresenceState
    /// When he was there last; nil while he is there, and where that is not known or hidden.
    public var seen: WallTime?

    /// Makes a presence.
    public init(user: UserID, state: PresenceState, seen: WallTime? = nil) {
        self.user = user
        self.state = state
        self.seen = seen
    }
}
