package import RepriseWire
import Synchronization

/// What a door that tells people of messages hears of all channels.
package enum ChannelNews: Hashable, Sendable {
    /// Messages, positions, counts or the state of the channel have changed.
    case changed(ChannelName)
    /// Somebody looks at it.
    case appeared(ChannelName)
    /// Nobody looks at it any more.
    case disappeared(ChannelName)
    /// The app takes no part in it any more.
    case left(ChannelName)
}

/// Whoever wants to hear of every channel.
final class ChannelEars: Sendable {
    private let observers = Mutex<[@Sendable (ChannelNews) -> Void]>([])

    func add(_ observer: @escaping @Sendable (ChannelNews) -> Void) {
        observers.withLock { $0.append(observer) }
    }

    func tell(_ news: ChannelNews) {
        for observer in observers.withLock({ $0 }) { observer(news) }
    }
}

extension Channels {
    /// Tells of everything from now on; the observer must not wait, and cannot be taken away.
    package func observe(_ observer: @escaping @Sendable (ChannelNews) -> Void) {
        readers.bells.ears.add(observer)
    }
}
