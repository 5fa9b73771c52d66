import RepriseCore
package import RepriseWire
import Synchronization

/// Notifies observers that a channel has changed.
final class ChannelChangeNotifier: Sendable {
    private struct State {
        var nextID = 0
        var signals: [ChannelName: [Int: Signal]] = [:]
        /// Of those who look at every channel.
        var all: [Int: Signal] = [:]
        var observers: [@Sendable (NoticeFeedEvent) -> Void] = []
    }

    private let state = Mutex(State())

    /// Notifies the channel's observers; a busy one is notified afterwards, once.
    func notify(_ channel: ChannelName) {
        state.withLock { state in
            for signal in state.all.values { signal.raise() }
            guard let signals = state.signals[channel] else { return }
            for signal in signals.values { signal.raise() }
        }
        tell(.changed(channel))
    }

    /// Observes all events from now on; the observer must not wait.
    func observe(_ observer: @escaping @Sendable (NoticeFeedEvent) -> Void) {
        state.withLock { $0.observers.append(observer) }
    }

    /// Tells the observers of all events.
    func tell(_ event: NoticeFeedEvent) {
        for observer in state.withLock({ $0.observers }) { observer(event) }
    }

    /// Notifies those who look at every channel.
    func notifyObserversOfAll() {
        state.withLock { for signal in $0.all.values { signal.raise() } }
    }

    /// For nil to every channel.
    func listen(to channel: ChannelName?, with signal: Signal) -> Int {
        state.withLock { state in
            state.nextID += 1
            guard let channel else {
                state.all[state.nextID] = signal
                return state.nextID
            }
            state.signals[channel, default: [:]][state.nextID] = signal
            return state.nextID
        }
    }

    func leave(_ channel: ChannelName?, _ id: Int) {
        state.withLock { state in
            guard let channel else { return state.all[id] = nil }
            state.signals[channel]?[id] = nil
            if state.signals[channel]?.isEmpty == true { state.signals[channel] = nil }
        }
    }
}

extension Channels {
    /// Observes all events from now on; the observer must not wait, and cannot be removed.
    package func observe(_ observer: @escaping @Sendable (NoticeFeedEvent) -> Void) {
        readers.changeNotifier.observe(observer)
    }
}
