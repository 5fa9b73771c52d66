package import RepriseWire
import Synchronization

/// The observers of every channel.
final class ChannelEars: Sendable {
    private let observers = Mutex<[@Sendable (NoticeNews) -> Void]>([])

    func add(_ observer: @escaping @Sendable (NoticeNews) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    func tell(_ news: NoticeNews) {
        for observer in observers.withLock({ $0 }) { observer(news) }
    }
}

extension Channels {
    /// Observes all events from now on; the observer must not wait, and cannot be removed.
    package func observe(_ observer: @escaping @Sendable (NoticeNews) -> Void) {
        readers.bells.ears.add(observer)
    }
}
