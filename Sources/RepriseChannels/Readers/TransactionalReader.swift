import GRDB
import Logging
import RepriseCore
import RepriseJournal
import RepriseWire

/// A transactional reader, whose effect shares the journal's transaction with its cursor: exactly
/// once, whatever happens in between.
///
/// A straight loop, because nothing races here; ``TransactionalPage`` decides a page's result.
actor TransactionalReader: Reader {
    let line: ReaderLine
    private let effect: @Sendable (Database, [Message]) throws -> Void

    private var cursor: Int64
    private var nextDue: WallTime?

    init(
        line: ReaderLine, effect: @escaping @Sendable (Database, [Message]) throws -> Void
    ) {
        self.line = line
        self.effect = effect
        cursor = line.through.value
    }

    func run() async throws {
        do {
            try await readUntilCancelled()
        } catch is CancellationError where Task.isCancelled {
            // Stopped during a write: the journal has all of it, or nothing.
        }
    }

    private func readUntilCancelled() async throws {
        while !Task.isCancelled {
            try await applyWhatIsDue()
            if line.options.order == .ordered, let nextDue {
                await line.wait(until: nextDue)
                continue
            }
            let page = try await line.page(after: cursor)
            guard page.isEmpty else {
                try await apply(page)
                continue
            }
            repeat {
                await line.wait(until: nextDue)
            } while try await applyWhatCame()
        }
    }

    private func apply(_ page: [Arrived]) async throws {
        let (line, effect) = (line, effect)
        applied(try await line.persist { try Self.apply(page, line, effect, $0) })
    }

    /// Applies new arrivals in the transaction that finds them: at the end of a channel most of a
    /// message's cost is the reads around it.
    ///
    /// - Returns: whether nothing is left to do; never while a message waits for a retry.
    private func applyWhatCame() async throws -> Bool {
        guard nextDue == nil, !Task.isCancelled else { return false }
        let (line, effect, cursor) = (line, effect, cursor)
        let came = try await line.persist { db -> (write: ReaderWrite, isAll: Bool)? in
            let rows = line.store.rows
            let due = try rows.due(line.reader, now: line.store.journal.now, db)
            guard due.messages.isEmpty, due.next == nil else { return nil }
            let page = try rows.page(after: cursor, db)
            guard !page.isEmpty else { return nil }
            let write = try Self.apply(page, line, effect, db)
            return (write, try rows.newest(db) <= write.cursor)
        }
        guard let came else { return false }
        applied(came.write)
        return came.isAll && nextDue == nil
    }

    private func applied(_ write: ReaderWrite) {
        cursor = write.cursor
        if let soonest = write.soonest { nextDue = min(soonest, nextDue ?? soonest) }
        line.through.announce(cursor)
    }

    private static func apply(
        _ page: [Arrived], _ line: ReaderLine,
        _ effect: @escaping @Sendable (Database, [Message]) throws -> Void, _ db: Database
    ) throws -> ReaderWrite {
        let write = try inside(line, effect, db).apply(page)
        try line.store.rows.write(write, of: line.reader, now: line.store.journal.now, db)
        if line.logger.logLevel <= .debug {
            db.afterNextTransaction { _ in line.tell(page, write) }
        }
        return write
    }

    private func applyWhatIsDue() async throws {
        while try await applyOnce(), line.options.order == .ordered, !Task.isCancelled {}
    }

    /// - Returns: whether anything was due.
    private func applyOnce() async throws -> Bool {
        let now = line.timekeeper.wall()
        let due = try await line.due(at: now)
        nextDue = due.messages.count == ReaderStore.dueLimit ? now : due.next
        for exceptional in due.messages where !Task.isCancelled {
            let (line, effect) = (line, effect)
            let acknowledgement = try await line.persist { db in
                let acknowledgement = try Self.inside(line, effect, db).retry(exceptional)
                try line.store.rows.settle(
                    acknowledgement, of: line.reader, now: line.store.journal.now, db)
                return acknowledgement
            }
            line.tell(exceptional.arrived.message, acknowledgement.ending?.reason)
            guard let ending = acknowledgement.ending, ending.state == .waiting else { continue }
            nextDue = min(nextDue ?? ending.due, ending.due)
        }
        return !due.messages.isEmpty
    }

    private static func inside(
        _ line: ReaderLine, _ effect: @escaping (Database, [Message]) throws -> Void,
        _ db: Database
    ) -> TransactionalPage {
        TransactionalPage(
            options: line.options, now: line.store.journal.now, jitter: line.jitter,
            effect: { messages in
                if let first = messages.first { line.handlerBegan(first.id) }
                defer { line.handlerEnded() }
                try db.inSavepoint {
                    try effect(db, messages)
                    return .commit
                }
            }, isItsOwn: { isItsOwn($0, db) })
    }

    /// Whether an error is the effect's fault, and not the disk's.
    ///
    /// SQLite ends the whole transaction on some failures; continuing would write an effect without
    /// its cursor.
    private static func isItsOwn(_ error: any Error, _ db: Database) -> Bool {
        guard db.isInsideTransaction else { return false }
        guard let error = error as? DatabaseError else { return true }
        switch error.resultCode {
        case .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_MISUSE, .SQLITE_RANGE,
            .SQLITE_TOOBIG:
            return true
        default:
            return false
        }
    }
}
