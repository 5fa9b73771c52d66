package import Logging
package import RepriseCore
package import RepriseWire
import Synchronization

/// The only writer of messages.
///
/// It takes all waiting messages as one batch, stores them in one transaction, delivers them to the
/// subscribers and then acknowledges them. The next batch collects meanwhile, so that concurrent
/// messages share the cost of a commit.
///
/// ```swift
/// let committer = Committer(log: log) { events in hub.fanOut(events) }
/// async let running: Void = committer.run()
/// committer.submit([message]) { result in connection.answer(result) }
/// ```
package final class Committer: Sendable {
    /// Called exactly once for each `submit`.
    package typealias Reply = @Sendable (Result<[AppendResult], RepriseError>) -> Void

    /// The limits of the queue and of a batch.
    package struct Limits: Hashable, Sendable {
        /// The most messages that may wait.
        package var waitingMessages = 65_536
        /// The most bytes of bodies that may wait.
        package var waitingBytes = 64 << 20
        /// The most messages of one transaction, unless a single submission has more.
        package var batchMessages = 2_048
        /// The most bytes of bodies of one transaction, unless a single submission has more.
        package var batchBytes = 8 << 20
        /// How long after the first of a transaction the last one came, where they are timed.
        package var span: Duration = .seconds(1)
        /// The least time from the end of a probe that failed to the next one.
        package var betweenProbes: Duration = .seconds(1)

        package init() {}
    }

    private typealias Submission = CommitQueue<Reply>.Submission

    private struct Probe {
        let task: Task<Bool, Never>
        /// When it failed; nil while it runs.
        var failed: Duration?
    }

    private let log: any MessageLog
    private let clock: any Timekeeper
    private let timesSubmissions: Bool
    private let betweenProbes: Duration
    private let onCommit: @Sendable ([ServerFrame.Event]) -> Void
    private let onFailure: @Sendable (Set<ChannelName>) -> Void
    private let logger: Logger
    private let queue: Mutex<CommitQueue<Reply>>
    /// The last probe, unless it succeeded.
    private let probe = Mutex<Probe?>(nil)
    /// Raised when ``run()`` has work, or its end.
    private let changed = Signal()

    /// Makes a committer; it stores nothing before ``run()``.
    ///
    /// - Parameters:
    ///   - log: nobody else may append to it.
    ///   - limits: the limits.
    ///   - clock: times probes and submissions.
    ///   - timesSubmissions: for a log whose answer has a limit.
    ///   - logger: receives each message's outcome at `debug`.
    ///   - onCommit: receives the stored events in commit order, before the replies; must not
    ///     block.
    ///   - onFailure: receives the channels of a batch with an unknown outcome, before the replies.
    package init(
        log: any MessageLog, limits: Limits = Limits(), clock: any Timekeeper = SystemTimekeeper(),
        timesSubmissions: Bool = false, logger: Logger = Logger(label: "reprise.committer"),
        onCommit: @escaping @Sendable ([ServerFrame.Event]) -> Void,
        onFailure: @escaping @Sendable (Set<ChannelName>) -> Void = { _ in }
    ) {
        self.log = log
        self.clock = clock
        self.timesSubmissions = timesSubmissions
        self.logger = logger
        betweenProbes = limits.betweenProbes
        self.onCommit = onCommit
        self.onFailure = onFailure
        queue = Mutex(CommitQueue(limits: limits))
    }

    /// Queues messages that belong together: they go into one transaction, in this order.
    ///
    /// Failures: `full` if the queue is at its limit (nothing is stored; answer `overloaded`),
    /// `unavailable` if storing failed (the outcome is unknown; the peer retries with the same
    /// ids), `closed` after ``shutdown()``.
    ///
    /// - Parameters:
    ///   - messages: valid, and few enough to share a batch with others.
    ///   - reply: receives one result per message, once they are durable and `onCommit` has
    ///     returned; may be called before `submit` returns.
    package func submit(_ messages: [NewMessage], reply: @escaping Reply) {
        let submission = Submission(
            messages: messages, reply: reply, taken: timesSubmissions ? clock.uptime() : nil)
        if let error = queue.withLock({ $0.add(submission) }) {
            return reply(.failure(error))
        }
        changed.raise()
    }

    /// Stores messages and returns once they are durable; see ``submit(_:reply:)``.
    package func commit(
        _ messages: [NewMessage]
    ) async throws(RepriseError) -> [AppendResult] {
        let result = await withCheckedContinuation { done in
            submit(messages) { done.resume(returning: $0) }
        }
        return try result.get()
    }

    /// Stores submitted messages, until ``shutdown()`` is called and all accepted ones are
    /// answered.
    ///
    /// Cancelling it is equivalent to `shutdown()`. Called once.
    package func run() async {
        await withTaskCancellationHandler {
            await withTaskExecutorPreference(log.executor) {
                while let batch = await nextBatch() { await store(batch) }
            }
        } onCancel: {
            shutdown()
        }
    }

    /// Refuses messages from now on, so that ``run()`` ends once the rest is answered; a second
    /// call does nothing.
    package func shutdown() {
        queue.withLock { $0.close() }
        changed.raise()
    }

    /// The number of waiting messages.
    package var waitingCount: Int { queue.withLock { $0.messageCount } }

    /// Whether messages can be stored now: the last commit succeeded, or a probe does.
    package func isReady() async -> Bool {
        guard queue.withLock({ $0.isOpen }) else { return false }
        return await sharedProbe()?.value ?? true
    }

    /// One for all who ask, because strangers may, and a failing log reads its memory again for
    /// each.
    ///
    /// - Returns: nil if the last commit succeeded.
    private func sharedProbe() -> Task<Bool, Never>? {
        let now = clock.uptime()
        return probe.withLock { last in
            guard queue.withLock({ $0.hasFailed }) else { return nil }
            if let last, last.failed.map({ now - $0 < betweenProbes }) ?? true { return last.task }
            let task = Task { await self.probeLog() }
            last = Probe(task: task)
            return task
        }
    }

    private func probeLog() async -> Bool {
        do {
            try await log.probe()
        } catch {
            let now = clock.uptime()
            probe.withLock { $0?.failed = now }
            return false
        }
        probe.withLock { last in
            last = nil
            queue.withLock { $0.logAnswered(hasFailed: false) }
        }
        return true
    }

    /// - Returns: nil once the queue is closed and empty.
    private func nextBatch() async -> [Submission]? {
        while true {
            let (batch, isOpen) = queue.withLock { ($0.take(), $0.isOpen) }
            if !batch.isEmpty { return batch }
            guard isOpen else { return nil }
            await changed.wait()
        }
    }

    private func store(_ batch: [Submission]) async {
        do {
            let results = try await log.append(
                batch.flatMap(\.messages), since: batch.first?.taken)
            queue.withLock { $0.logAnswered(hasFailed: false) }
            tell(batch, results)
            perform(CommitQueue.stored(batch, results))
        } catch {
            queue.withLock { $0.logAnswered(hasFailed: true) }
            logger.error("The log could not store a batch.", metadata: ["error": "\(error)"])
            perform(CommitQueue.failed(batch, error))
        }
    }

    /// A line for each message of a durable batch, before its subscribers hear of it.
    private func tell(_ batch: [Submission], _ results: [AppendResult]) {
        guard logger.logLevel <= .debug else { return }
        for (message, result) in zip(batch.lazy.flatMap(\.messages), results) {
            var values: [String: String?] = [
                "message": message.id.text, "channel": message.channel.text,
                "user": message.from?.text, "target": message.change?.target.text,
            ]
            switch result {
            case .stored(let event), .buried(_, let event):
                values["seq"] = "\(event.seq)"
                logger.tell(.debug, "A message is stored.", values)
            case .duplicate(let seq):
                values["seq"] = "\(seq)"
                logger.tell(.debug, "A message was stored before.", values)
            case .refused(let code, let reason):
                values["code"] = "\(code)"
                values["reason"] = reason
                logger.tell(.debug, "A message is refused.", values)
            }
        }
    }

    private func perform(_ actions: [CommitQueue<Reply>.Action]) {
        for action in actions {
            switch action {
            case .fanOut(let events): onCommit(events)
            case .doubt(let channels): onFailure(channels)
            case .answer(let reply, let result): reply(result)
            }
        }
    }
}
