import RepriseCore
import RepriseJournal
import RepriseWire

/// Reads a list again whenever its channel has changed and the consumer asks for the next one.
///
/// Nothing is read ahead: a slow consumer gets the newest, and costs nothing meanwhile.
actor ListWatch<Value: Equatable & Sendable> {
    private static var pause: Duration { .seconds(1) }

    private let channel: ChannelName?
    private let journal: Journal
    private let changeNotifier: ChannelChangeNotifier
    private let signal = Signal()
    private let id: Int
    /// Wakes a consumer that waits when the journal ends.
    private let ended: Task<Void, Never>
    private let timekeeper: any Timekeeper
    private let read: @Sendable () async throws -> Value
    private var shown: Value?

    init(
        _ channel: ChannelName?, in journal: Journal, changeNotifier: ChannelChangeNotifier,
        timekeeper: any Timekeeper, read: @escaping @Sendable () async throws -> Value
    ) {
        self.channel = channel
        self.journal = journal
        self.changeNotifier = changeNotifier
        self.timekeeper = timekeeper
        self.read = read
        id = changeNotifier.listen(to: channel, with: signal)
        ended = Task { [signal] in
            try? await journal.ended()
            signal.raise()
        }
        signal.raise()
    }

    deinit {
        ended.cancel()
        changeNotifier.leave(channel, id)
    }

    /// - Returns: the next list that differs from the previous one; nil once the task is cancelled,
    ///   or the journal is closed or another process's.
    func next() async -> Value? {
        while true {
            await signal.wait()
            guard !Task.isCancelled, !journal.isEnded else { return nil }
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
