import GRDB
import RepriseCore
import RepriseWire

/// A reader whose effect is outside of the journal: at least once, with a window of doubt that is written down.
///
/// Before a message is handed over the journal says that it may be in hand (`handing`); behind the handler the cursor
/// follows. Both are written together while handlers go on, so neither waits for the disk unless the window is used up. What lies
/// between the two when the process dies is what nobody knows about.
actor OutsideReader: Reader {
    let line: ReaderLine
    private let isApplied: (@Sendable (EntryID) async throws -> Bool)?
    private let handler: @Sendable (Message) async throws -> Void

    private struct Failure: Sendable {
        var arrival: Int64
        var ending: Ending
    }

    /// Everything up to here is finished, or in `failures`; memory only.
    private var done: Int64
    /// What the disk says.
    private var cursor: Int64
    private var handing: Int64
    private var failures: [Failure] = []
    private var writing: Task<Void, any Error>?
    private var unwritten = 0
    private var lastWrite: Duration = .zero
    private var page: [Arrived] = []
    private var index = 0
    private var nextDue: WallTime?

    init(
        line: ReaderLine, isApplied: (@Sendable (EntryID) async throws -> Bool)?,
        handler: @escaping @Sendable (Message) async throws -> Void
    ) {
        self.line = line
        self.isApplied = isApplied
        self.handler = handler
        cursor = line.through.value
        done = cursor
        handing = cursor
    }

    func run() async throws {
        while !Task.isCancelled {
            try await handOverWhatIsDue()
            page = try await line.page(after: done)
            index = 0
            while index < page.count, !Task.isCancelled { try await handOverNext() }
            if page.isEmpty, !Task.isCancelled {
                try await write(releasing: true)
                await line.wait(until: nextDue)
            }
        }
        page = []
        try await write(releasing: true)
    }

    // MARK: The straight path

    private func handOverNext() async throws {
        let next = page[index]
        while next.arrival > handing {
            if let writing { try await finish(writing) } else { try await write(releasing: false) }
        }
        if let ending = await handOver(next, failures: 0) {
            failures.append(Failure(arrival: next.arrival, ending: ending))
        }
        done = next.arrival
        index += 1
        unwritten += 1
        let now = line.timekeeper.uptime()
        if writing == nil, 2 * unwritten >= line.options.window || now - lastWrite > Self.pause {
            startWriting(releasing: false, at: now)
        }
        if let nextDue, nextDue <= line.timekeeper.wall() { try await handOverWhatIsDue() }
    }

    /// A slow handler's work is written down at least so often.
    private static let pause: Duration = .milliseconds(20)

    /// - Returns: nil if the handler has succeeded.
    private func handOver(_ arrived: Arrived, failures: Int) async -> Ending? {
        let message = arrived.message
        do {
            if let damage = arrived.damage { throw HandOverFailure.permanent(damage.message) }
            if message.attempt > 1, let isApplied, try await isApplied(message.id) { return nil }
            try await handler(message)
            return nil
        } catch {
            return Ending.after(
                error, line.options, failures: failures, now: line.timekeeper.wall(),
                jitter: line.jitter())
        }
    }

    // MARK: Writing

    /// Brings the disk to where memory is; waits for it.
    ///
    /// With `releasing` nothing is going to be handed over next, so nothing is in doubt.
    private func write(releasing: Bool) async throws {
        while let writing { try await finish(writing) }
        let isBehind = cursor < done || !failures.isEmpty
        guard isBehind || (releasing ? handing > done : windowEnd > handing) else { return }
        startWriting(releasing: releasing, at: line.timekeeper.uptime())
        if let writing { try await finish(writing) }
    }

    /// Once this task is cancelled the disk gets one more chance and no more.
    private func finish(_ writing: Task<Void, any Error>) async throws {
        defer { self.writing = nil }
        try await withTaskCancellationHandler {
            try await writing.value
        } onCancel: {
            writing.cancel()
        }
    }

    /// The last message of the page that may be in hand if everything up to `done` is written down.
    private var windowEnd: Int64 {
        guard index < page.count else { return done }
        return page[min(index + line.options.window, page.count) - 1].arrival
    }

    private func startWriting(releasing: Bool, at now: Duration) {
        let written = done
        let handing = releasing ? written : max(windowEnd, written)
        let failures = failures
        self.failures = []
        unwritten = 0
        lastWrite = now
        writing = Task { [line] in
            try await line.persist { db in
                for failure in failures {
                    try line.store.settle(
                        failure.arrival, of: line.reader, attempts: 1,
                        failures: failure.ending.isFailure ? 1 : 0, failure.ending, db)
                }
                try line.store.move(line.reader, cursor: written, handing: handing, db)
            }
            self.written(written, handing: handing, failures)
        }
    }

    private func written(_ cursor: Int64, handing: Int64, _ failures: [Failure]) {
        self.cursor = cursor
        self.handing = handing
        for failure in failures where failure.ending.state == .waiting {
            nextDue = min(nextDue ?? failure.ending.due, failure.ending.due)
        }
        line.through.announce(cursor)
        writing = nil
    }

    // MARK: Exceptions

    /// One at a time: what is in hand when the process dies is then known exactly, so a message that kills it cannot drag
    /// others along.
    private func handOverWhatIsDue() async throws {
        let now = line.timekeeper.wall()
        let (due, next) = try await line.due(at: now)
        nextDue = due.count == 100 ? now : next
        for exceptional in due where !Task.isCancelled { try await retry(exceptional) }
    }

    private func retry(_ exceptional: ReaderStore.Exceptional) async throws {
        let (line, arrived) = (line, exceptional.arrived)
        try await line.persist { db in try line.store.hand(arrived.arrival, of: line.reader, db) }
        let ending = await handOver(arrived, failures: exceptional.failures)
        let failures = exceptional.failures + (ending?.isFailure == true ? 1 : 0)
        try await line.persist { db in
            try line.store.settle(
                arrived.arrival, of: line.reader, attempts: arrived.message.attempt,
                failures: failures, ending, db)
        }
        if let ending, ending.state == .waiting { nextDue = min(nextDue ?? ending.due, ending.due) }
    }
}
