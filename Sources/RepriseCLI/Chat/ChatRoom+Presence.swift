import RepriseChannels
import RepriseCommandLine
import RepriseCore
import RepriseWire

/// The others' presence, where the server offers it.
extension ChatRoom {
    func presenceChanged(_ presence: ChannelPresence) {
        self.presence = presence.users
        snapshot.presence = Self.words(presence.users, at: SystemTimekeeper().wall())
        changed.raise()
    }

    /// For the line of state; nil where nothing is known.
    static func words(_ users: [UserID: UserPresence], at now: WallTime) -> String? {
        guard let one = users.values.first else { return nil }
        guard users.count > 1 else { return "\(one.user) \(one.words(at: now))" }
        return "\(users.values.count { $0.state == .online }) online"
    }

    /// For a line of `/who`; nil where nothing is known.
    func presenceWords(of user: UserID) -> String? {
        presence[user]?.words(at: SystemTimekeeper().wall())
    }
}

extension UserPresence {
    /// For people.
    func words(at now: WallTime) -> String {
        switch state {
        case .online: "online"
        case .idle: "idle"
        case .offline:
            seen.map { "last seen " + Self.ago(now.milliseconds - $0.milliseconds) } ?? "offline"
        }
    }

    private static func ago(_ milliseconds: Int64) -> String {
        let minutes = milliseconds / 60_000
        switch minutes {
        case ..<1: return "just now"
        case ..<60: return "\(minutes) min ago"
        case ..<2_880: return "\(minutes / 60) h ago"
        default: return "\(minutes / 1_440) days ago"
        }
    }
}
