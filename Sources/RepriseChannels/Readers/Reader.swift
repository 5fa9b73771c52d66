import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// A running reader: hands over what the journal has, and waits for more.
protocol Reader: Sendable {
    var line: ReaderLine { get }

    /// Works until the task is cancelled.
    ///
    /// - Throws: only what makes going on useless.
    func run() async throws
}

/// What every reader has, whatever its effect.
final class ReaderLine: Sendable {
    let store: ReaderStore
    let reader: Int64
    let options: ReaderOptions
    /// Raised when the channel may have something new, or something is due.
    let signal = Signal()
    /// Everything up to here is durably finished or an exception.
    let through: Announcer<Int64>
    let timekeeper: any Timekeeper
    let jitter: @Sendable () -> Double
    private let lastTrouble = Mutex<RepriseError?>(nil)
    private let desk = Mutex(HandlerWatch())
    private let troubleChanged: @Sendable () -> Void

    init(
        store: ReaderStore, position: ReaderStore.Position, options: ReaderOptions,
        configuration: Channels.Configuration, troubleChanged: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.troubleChanged = troubleChanged
        self.options = options
        reader = position.reader
        through = Announcer(position.cursor)
        timekeeper = configuration.timekeeper
        jitter = configuration.jitter
    }

    /// Why the disk does not take or give what it is asked for; nil: it does.
    var trouble: RepriseError? {
        get { lastTrouble.withLock { $0 } }
        set {
            let isNews = lastTrouble.withLock { trouble in
                defer { trouble = newValue }
                return trouble != newValue
            }
            if isNews { troubleChanged() }
        }
    }

    // MARK: How it is doing

    var state: ReaderState {
        if let trouble { return .stuck(trouble) }
        return desk.withLock { $0.slow }.map { .slow($0.id, since: $0.since) } ?? .running
    }

    /// The handler gets a message, or the first of several.
    func handlerBegan(_ id: EntryID) {
        let until = timekeeper.uptime() + options.deadline
        desk.withLock { watch in
            watch.inHand = (id, until)
            guard watch.task == nil else { return }
            watch.task = Task { await watchHandler(until: until) }
        }
    }

    func handlerEnded() {
        let wasSlow = desk.withLock { watch in
            watch.inHand = nil
            defer { watch.slow = nil }
            return watch.slow != nil
        }
        if wasSlow { troubleChanged() }
    }

    /// The reader runs no more.
    func stopWatching() { desk.withLock { $0.task }?.cancel() }

    /// Looks once a deadline at most, and as long as there is something to look at: a message costs
    /// no timer.
    private func watchHandler(until first: Duration) async {
        var next: Duration? = first
        while let moment = next {
            let isCancelled = (try? await timekeeper.sleep(until: moment)) == nil
            let now = timekeeper.uptime()
            let since = timekeeper.wall().advanced(by: .zero - options.deadline)
            let isSlow: Bool
            (isSlow, next) = desk.withLock { watch in
                if !isCancelled, let inHand = watch.inHand, now < inHand.until {
                    return (false, inHand.until)
                }
                watch.task = nil
                guard !isCancelled, let inHand = watch.inHand else { return (false, nil) }
                watch.slow = (inHand.id, since)
                return (true, nil)
            }
            if isSlow { troubleChanged() }
        }
    }

    // MARK: The disk

    /// Writes, and tries again while the disk cannot: nothing that was done may be forgotten.
    func persist<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T
    {
        try await patiently { [store] in try await store.journal.write(body) }
    }

    /// Tries again while the disk cannot; throws what trying again does not mend.
    func patiently<T: Sendable>(_ body: @Sendable () async throws -> T) async throws -> T {
        var failures = 0
        defer { if failures > 0 { trouble = nil } }
        while true {
            do {
                return try await body()
            } catch {
                failures += 1
                guard
                    let wait = ReaderPatience.wait(
                        after: error, failures: failures, jitter: jitter())
                else { throw error }
                trouble = error as? RepriseError
                try await timekeeper.sleep(for: wait)
            }
        }
    }

    func page(after cursor: Int64) async throws -> [Arrived] {
        try await patiently { [store] in try await store.page(after: cursor) }
    }

    /// What waits and is due; and when something is due next.
    func due(at now: WallTime) async throws -> ReaderStore.Due {
        try await patiently { [store, reader] in try await store.due(reader, now: now) }
    }

    /// Waits until the signal is raised, or the calendar says `due`.
    func wait(until due: WallTime?) async {
        guard let due else { return await signal.wait() }
        // The moment is fixed here: a task that starts late, on a busy or frozen device, must not
        // add its delay.
        let now = timekeeper.uptime()
        // A calendar that was set back must not make anything wait for longer than its longest
        // backoff.
        let left = min(max(timekeeper.wall().duration(to: due), .zero), options.backoff.longest)
        let alarm = Task { [timekeeper, signal] in
            try await timekeeper.sleep(until: now + left)
            signal.raise()
        }
        await signal.wait()
        alarm.cancel()
    }
}

/// What a reader's handler has in hand.
private struct HandlerWatch: Sendable {
    /// And when that is too long.
    var inHand: (id: EntryID, until: Duration)?
    /// What is there for longer than the deadline.
    var slow: (id: EntryID, since: WallTime)?
    /// Looks after it.
    var task: Task<Void, Never>?
}
