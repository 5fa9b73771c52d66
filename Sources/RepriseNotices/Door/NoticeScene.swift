import RepriseWire
import Synchronization

/// What is in front of the person.
final class NoticeScene: Sendable {
    private struct State {
        var isForeground = true
        /// Until when the system lets the app run in the background, by the uptime.
        var backgroundUntil: Duration?
        /// Whether there is a connection to the server.
        var isConnected = false
        /// In the order of appearance.
        var appeared: [ChannelName] = []
    }

    private let state = Mutex(State())

    var isForeground: Bool {
        get { state.withLock { $0.isForeground } }
        set { state.withLock { $0.isForeground = newValue } }
    }

    var isConnected: Bool {
        get { state.withLock { $0.isConnected } }
        set { state.withLock { $0.isConnected = newValue } }
    }

    var backgroundUntil: Duration? {
        get { state.withLock { $0.backgroundUntil } }
        set { state.withLock { $0.backgroundUntil = newValue } }
    }

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
        state.withLock { $0.isForeground ? $0.appeared.last : nil }
    }
}
