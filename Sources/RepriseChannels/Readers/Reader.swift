import GRDB
import Logging
import RepriseCore
import RepriseJournal
import RepriseWire
import Synchronization

/// A running reader: delivers the journal's messages, and waits for more.
protocol Reader: Sendable {
    var line: ReaderLine { get }

    /// Works until the task is cancelled.
    ///
    /// - Throws: only an error that makes a retry useless.
    func run() async throws
}

/// The part that every reader has, whatever its effect.
final class ReaderLine: Sendable {
    let store: ReaderStore
    let reader: Int64
    let options: ReaderOptions
    /// Raised when the channel may have new messages, or one is due.
    let signal = Signal()
    /// Everything up to here is durably finished or exceptional.
    let through: StateBroadcaster<Int64>
    let timekeeper: any Timekeeper
    let jitter: @Sendable () -> Double
    /// Names this reader.
    let logger: Logger
    private let lastTrouble = Mutex<RepriseError?>(nil)
    private let handler = Mutex(HandlerWatch())
    private let troubleChanged: @Sendable () -> Void

    init(
        store: ReaderStore, position: ReaderStore.Position, options: ReaderOptions,
        configuration: Channels.Configuration, troubleChanged: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.troubleChanged = troubleChanged
        self.options = options
        reader = position.reader
        through = StateBroadcaster(position.cursor)
        timekeeper = configuration.timekeeper
        jitter = configuration.jitter
        var logger = configuration.logger
        logger[metadataKey: "reader"] = "\(store.rows.name.printable)"
        self.logger = logger
    }

    /// Logs that a message was handled; or with a reason, the handler's own words, that it was not.
    func tell(_ message: Message, _ reason: @autoclosure () -> String?) {
        guard logger.logLevel <= .debug else { return }
        let reason = reason()
        logger.tell(
            .debug, reason == nil ? "A message is handled." : "A handler has failed.",
            [
                "message": message.id.text, "channel": message.channel.text,
                "seq": "\(message.seq)", "attempt": "\(message.attempt)", "reason": reason,
            ])
    }

    /// The same for a page whose results share a transaction.
    func tell(_ page: [Arrived], _ write: ReaderWrite) {
        for arrived in page where arrived.position <= write.cursor {
            let ending = write.acknowledgements.first { $0.arrival == arrived.arrival }?.ending
            tell(arrived.message, ending?.reason)
        }
    }

    /// Why the disk fails; nil: it does not.
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

    // MARK: Status

    var state: ReaderState {
        if let trouble { return .stuck(trouble) }
        return handler.withLock { $0.slow }.map { .slow($0.id, since: $0.since) } ?? .running
    }

    /// The handler gets a message, or the first of several.
    func handlerBegan(_ id: EntryID) {
        let until = timekeeper.uptime() + options.deadline
        handler.withLock { watch in
            watch.inFlight = (id, until)
            guard watch.task == nil else { return }
            watch.task = Task { await watchHandler(until: until) }
        }
    }

    func handlerEnded() {
        let wasSlow = handler.withLock { watch in
            watch.inFlight = nil
            defer { watch.slow = nil }
            return watch.slow != nil
        }
        if wasSlow { troubleChanged() }
    }

    /// The reader has ended.
    func stopWatching() { handler.withLock { $0.task }?.cancel() }

    /// Checks once a deadline at most, and only while a handler runs: a message costs no timer.
    private func watchHandler(until first: Duration) async {
        var next: Duration? = first
        while let moment = next {
            let isCancelled = (try? await timekeeper.sleep(until: moment)) == nil
            let now = timekeeper.uptime()
            let since = timekeeper.wall().advanced(by: .zero - options.deadline)
            let isSlow: Bool
            (isSlow, next) = handler.withLock { watch in
                if !isCancelled, let inFlight = watch.inFlight, now < inFlight.until {
                    return (false, inFlight.until)
                }
                watch.task = nil
                guard !isCancelled, let inFlight = watch.inFlight else { return (false, nil) }
                watch.slow = (inFlight.id, since)
                return (true, nil)
            }
            if isSlow { troubleChanged() }
        }
    }

    // MARK: The disk

    /// Writes, and retries while the disk fails: no finished work may be forgotten.
    func persist<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T
    {
        try await patiently { [store] in try await store.journal.write(body) }
    }

    /// Retries while the disk fails; throws errors that a retry cannot fix.
    func patiently<T: Sendable>(_ body: @Sendable () async throws -> T) async throws -> T {
        var failures = 0
        defer { if failures > 0 { trouble = nil } }
        while true {
            do {
                return try await body()
            } catch {
                failures += 1
                guard
                    let wait = ReaderRetryPolicy.wait(
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

    /// The due messages, and when the next one is due.
    func due(at now: WallTime) async throws -> ReaderStore.Due {
        try await patiently { [store, reader] in try await store.due(reader, now: now) }
    }

    /// Waits until the signal is raised, or the calendar reaches `due`.
    func wait(until due: WallTime?) async {
        guard let due else { return await signal.wait() }
        // The moment is fixed here: a task that starts late, on a busy or frozen device, must not
        // add its delay.
        let now = timekeeper.uptime()
        // A calendar that was set back must not make any wait longer than the longest backoff; a
        // backoff of nothing must not make one that reads without a rest.
        let longest = max(options.backoff.longest, .seconds(1))
        let left = min(max(timekeeper.wall().duration(to: due), .zero), longest)
        await signal.wait(until: now + left, by: timekeeper)
    }
}

/// The message that a reader's handler has in flight.
private struct HandlerWatch: Sendable {
    /// And when that is too long.
    var inFlight: (id: EntryID, until: Duration)?
    /// The message that exceeds the deadline.
    var slow: (id: EntryID, since: WallTime)?
    /// The task that checks it.
    var task: Task<Void, Never>?
}
