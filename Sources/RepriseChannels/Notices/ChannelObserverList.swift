package import RepriseWire
import Synchronization

/// The observers of every channel.
final class ChannelObserverList: Sendable {
    private let observers = Mutex<[@Sendable (NoticeFeedEvent) -> Void]>([])

    func add(_ observer: @escaping @Sendable (NoticeFeedEvent) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    func tell(_ news: NoticeFeedEvent) {
        for observer in observers.withLock({ $0 }) { observer(news) }
    }
}

extension Channels {
    /// Observes all events from now on; the observer must not wait, and cannot be removed.
    package func observe(_ observer: @escaping @Sendable (NoticeFeedEvent) -> Void) {
        readers.changeNotifier.observerList.add(observer)
    }
}
