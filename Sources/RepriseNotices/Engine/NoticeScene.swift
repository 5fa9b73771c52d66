import RepriseWire
import Synchronization

/// The app's visibility to the person.
final class NoticeScene: Sendable {
    private struct State {
        /// The app's last report; nil: none yet, as after a launch by a push.
        var isForeground: Bool?
        /// Until when the system lets the app run in the background, by the uptime.
        var backgroundUntil: Duration?
        /// Whether the server is connected.
        var isConnected = false
        /// In the order of appearance.
        var appeared: [ChannelName] = []

        var isSeen: Bool { isForeground ?? !appeared.isEmpty }
    }

    private let state = Mutex(State())

    /// Whether the app is in the foreground: by its report, and before that, if a channel is
    /// visible.
    var isForeground: Bool { state.withLock { $0.isSeen } }

    /// Whether the app has reported the background, where it may be killed at any moment.
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
