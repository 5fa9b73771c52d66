import RepriseWire
import Synchronization

/// What is in front of the person.
final class NoticeScene: Sendable {
    private struct State {
        /// What the app has said last; nil: nothing yet, as when a push has launched it and nobody
        /// looks.
        var isForeground: Bool?
        /// Until when the system lets the app run in the background, by the uptime.
        var backgroundUntil: Duration?
        /// Whether there is a connection to the server.
        var isConnected = false
        /// In the order of appearance.
        var appeared: [ChannelName] = []

        var isSeen: Bool { isForeground ?? !appeared.isEmpty }
    }

    private let state = Mutex(State())

    /// Whether a person looks at the app: as it has said, and until then if a channel is on its
    /// screen.
    var isForeground: Bool { state.withLock { $0.isSeen } }

    /// Whether the app has said that it is in the background, where each moment may be its last.
    var isBackground: Bool { state.withLock { $0.isForeground == false } }

    func foreground() {
        state.withLock { ($0.isForeground, $0.backgroundUntil) = (true, nil) }
    }

    /// - Parameter until: until when the system lets the app run, by the uptime.
    func background(until: Duration) {
        state.withLock { ($0.isForeground, $0.backgroundUntil) = (false, until) }
    }

    var isConnected: Bool {
        get { state.withLock { $0.isConnected } }
        set { state.withLock { $0.isConnected = newValue } }
    }

    var backgroundUntil: Duration? { state.withLock { $0.backgroundUntil } }

    func appeared(_ channel: ChannelName) {
        state.withLock { state in
            state.appeared.removeAll { $0 == channel }
            state.appeared.append(channel)
        }
    }

    func disappeared(_ channel: ChannelName) {
        state.withLock { $0.appeared.removeAll { $0 == channel } }
    }

    /// The channel that a person looks at.
    var onScreen: ChannelName? {
        state.withLock { $0.isSeen ? $0.appeared.last : nil }
    }
}
