import RepriseCore
import RepriseJournal
import RepriseWire

/// An at-least-once reader, whose effect is outside of the journal, with a recorded window of
/// doubt.
///
/// Performs the decisions of ``AtLeastOnceReaderMachine``.
actor AtLeastOnceReader: Reader {
    let line: ReaderLine
    private let isApplied: (@Sendable (EntryID) async throws -> Bool)?
    private let handler: @Sendable (Message) async throws -> Void

    private var machine: AtLeastOnceReaderMachine
    private var writing: Task<Void, any Error>?

    init(
        line: ReaderLine, isApplied: (@Sendable (EntryID) async throws -> Bool)?,
        handler: @escaping @Sendable (Message) async throws -> Void
    ) {
        self.line = line
        self.isApplied = isApplied
        self.handler = handler
        machine = AtLeastOnceReaderMachine(options: line.options, cursor: line.through.value)
    }

    func run() async throws {
        let (line, rows) = (line, line.store.rows)
        // A former run may have left a write: it ends by itself, or is begun again.
        try? await finishWriting()
        if let unfinished = machine.started() { begin(unfinished) }
        while true {
            if Task.isCancelled { machine.stopRequested() }
            switch machine.next(at: line.timekeeper.uptime(), wall: line.timekeeper.wall()) {
            case .loadDue(let now):
                do {
                    let due = try await line.due(at: now)
                    machine.dueLoaded(due.messages, next: due.next, at: now)
                } catch is CancellationError where Task.isCancelled {
                    // Finished work is still to be stored.
                }
            case .loadPage(let cursor):
                do {
                    machine.pageLoaded(try await line.page(after: cursor))
                } catch is CancellationError where Task.isCancelled {
                    // As above.
                }
            case .dispatch(let arrived):
                let error = await dispatch(arrived.message)
                line.tell(arrived.message, error.map { "\($0)" })
                machine.handled(
                    error, at: line.timekeeper.uptime(), wall: line.timekeeper.wall(),
                    jitter: line.jitter())
            case .write(let write): begin(write)
            case .awaitWrite: try await finishWriting()
            case .mark(let arrival):
                try await line.persist { db in try rows.markDispatched(arrival, of: line.reader, db)
                }
                machine.marked()
            case .settle(let acknowledgement):
                try await line.persist { db in
                    try rows.settle(
                        acknowledgement, of: line.reader, now: line.store.journal.now, db)
                }
                machine.settled()
            case .wait(let due):
                await line.wait(until: due)
                machine.woke()
            case .finish: return
            }
        }
    }

    /// - Returns: the error; nil if the effect has taken place.
    private func dispatch(_ message: Message) async -> (any Error)? {
        line.handlerBegan(message.id)
        defer { line.handlerEnded() }
        do {
            if message.attempt > 1, let isApplied, try await isApplied(message.id) { return nil }
            let signpost = Signpost.begin("dispatch")
            defer { signpost.end() }
            try await handler(message)
            return nil
        } catch {
            return error
        }
    }

    private func begin(_ write: ReaderWrite) {
        writing = Task { [line] in
            try await line.persist { db in
                try line.store.rows.write(
                    write, of: line.reader, now: line.store.journal.now, db)
            }
            self.written(write.cursor)
        }
    }

    private func written(_ cursor: Int64) {
        machine.written()
        writing = nil
        line.through.announce(cursor)
    }

    /// Once this task is cancelled, the disk gets exactly one more attempt.
    private func finishWriting() async throws {
        guard let writing else { return }
        try await withTaskCancellationHandler {
            try await writing.value
        } onCancel: {
            writing.cancel()
        }
    }
}
