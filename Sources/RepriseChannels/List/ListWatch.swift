import RepriseCore
import RepriseWire
import Synchronization

/// Notifies observers that a channel has changed.
final class ChannelChangeNotifier: Sendable {
    private struct State {
        var nextID = 0
        var signals: [ChannelName: [Int: Signal]] = [:]
        /// Of those who look at every channel.
        var all: [Int: Signal] = [:]
    }

    /// The observers of all channels.
    let observerList = ChannelObserverList()
    private let state = Mutex(State())

    /// Notifies the channel's observers; a busy one is notified afterwards, once.
    func ring(_ channel: ChannelName) {
        state.withLock { state in
            for signal in state.all.values { signal.raise() }
            guard let signals = state.signals[channel] else { return }
            for signal in signals.values { signal.raise() }
        }
        observerList.tell(.changed(channel))
    }

    /// Notifies the observers of every channel.
    func ringAll() { state.withLock { for signal in $0.all.values { signal.raise() } } }

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

/// Reads a list again whenever its channel has changed and the consumer asks for the next one.
///
/// Nothing is read ahead: a slow consumer gets the newest, and costs nothing meanwhile.
actor ListWatch<Value: Equatable & Sendable> {
    private static var pause: Duration { .seconds(1) }

    private let channel: ChannelName?
    private let changeNotifier: ChannelChangeNotifier
    private let signal = Signal()
    private let id: Int
    private let timekeeper: any Timekeeper
    private let read: @Sendable () async throws -> Value
    private var shown: Value?

    init(
        _ channel: ChannelName?, changeNotifier: ChannelChangeNotifier, timekeeper: any Timekeeper,
        read: @escaping @Sendable () async throws -> Value
    ) {
        self.channel = channel
        self.changeNotifier = changeNotifier
        self.timekeeper = timekeeper
        self.read = read
        id = changeNotifier.listen(to: channel, with: signal)
        signal.raise()
    }

    deinit { changeNotifier.leave(channel, id) }

    /// - Returns: the next list that differs from the previous one; nil once the task is cancelled
    ///   or the journal is closed.
    func next() async -> Value? {
        while true {
            await signal.wait()
            guard !Task.isCancelled else { return nil }
            do {
                let list = try await read()
                guard list != shown else { continue }
                shown = list
                return list
            } catch let error as RepriseError where error.code == .closed {
                return nil
            } catch {
                // After a disk failure the list stays as it is, and is read again.
                guard (try? await timekeeper.sleep(for: Self.pause)) != nil else { return nil }
                signal.raise()
            }
        }
    }
}
