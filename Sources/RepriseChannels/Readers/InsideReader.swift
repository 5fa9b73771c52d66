import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// A reader whose effect shares the journal's transaction with its cursor: exactly once, whatever happens in between.
///
/// Nothing races here, so it is a straight loop; what a page comes to is decided by ``InsidePage``.
actor InsideReader: Reader {
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
        while !Task.isCancelled {
            try await applyWhatIsDue()
            if line.options.order == .ordered, let nextDue {
                await line.wait(until: nextDue)
                continue
            }
            let page = try await line.page(after: cursor)
            if page.isEmpty { await line.wait(until: nextDue) } else { try await apply(page) }
        }
    }

    private func apply(_ page: [Arrived]) async throws {
        let (line, effect) = (line, effect)
        let write = try await line.persist { db in
            let write = try Self.inside(line, effect, db).apply(page)
            try line.store.rows.write(write, of: line.reader, now: line.store.journal.now, db)
            return write
        }
        cursor = write.cursor
        if let soonest = write.soonest { nextDue = min(soonest, nextDue ?? soonest) }
        line.through.announce(cursor)
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
            let settlement = try await line.persist { db in
                let settlement = try Self.inside(line, effect, db).retry(exceptional)
                try line.store.rows.settle(
                    settlement, of: line.reader, now: line.store.journal.now, db)
                return settlement
            }
            guard let ending = settlement.ending, ending.state == .waiting else { continue }
            nextDue = min(nextDue ?? ending.due, ending.due)
        }
        return !due.messages.isEmpty
    }

    private static func inside(
        _ line: ReaderLine, _ effect: @escaping (Database, [Message]) throws -> Void,
        _ db: Database
    ) -> InsidePage {
        InsidePage(
            options: line.options, now: line.store.journal.now, jitter: line.jitter,
            effect: { messages in
                try db.inSavepoint {
                    try effect(db, messages)
                    return .commit
                }
            }, isItsOwn: { isItsOwn($0, db) })
    }

    /// Whether the effect is to blame, and not the disk.
    ///
    /// SQLite ends the whole transaction on some failures; whoever went on then would write an
    /// effect without its cursor.
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
