import RepriseChannels
import RepriseCore

extension ConnectionState {
    /// For people, in a line of state.
    var words: String {
        switch self {
        case .idle: "not connected"
        case .connecting: "connecting …"
        case .connected: "connected"
        case .expiring(let error): "connected, but not for long: \(error.message)"
        case .offline: "offline, until there is a network"
        case .suspended: "in the background"
        case .stuck(let error): "cannot write: \(error.message)"
        case .waiting(let delay, let reason):
            // Nothing counts down: this stands there until the next attempt.
            "offline, again within \(delay.components.seconds + 1) s: \(reason.description)"
        case .stopped(let reason): "ended: \(reason.description)"
        }
    }
}
