import GRDB
import RepriseCore
import RepriseWire

/// A reader whose effect shares the journal's transaction with its cursor: exactly once, whatever happens in between.
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
            let page = try await line.page(after: cursor)
            if let last = page.last {
                try await apply(page, through: last.arrival)
            } else {
                await line.wait(until: nextDue)
            }
        }
    }

    private func apply(_ page: [Arrived], through last: Int64) async throws {
        let (line, effect) = (line, effect)
        let soonest = try await line.persist { db in
            let failed = try Self.apply(page, effect, db)
            var soonest: WallTime?
            for (arrived, error) in failed {
                let ending = Self.ending(error, line, failures: 0)
                try line.store.settle(
                    arrived.arrival, of: line.reader, attempts: 1,
                    failures: ending.isFailure ? 1 : 0, ending, db)
                if ending.state == .waiting { soonest = min(soonest ?? ending.due, ending.due) }
            }
            try line.store.move(line.reader, cursor: last, handing: last, db)
            return soonest
        }
        cursor = last
        nextDue = soonest.map { min($0, nextDue ?? $0) } ?? nextDue
        line.through.announce(last)
    }

    /// All together; if that fails each alone, so that one message cannot hold up the others.
    private static func apply(
        _ page: [Arrived], _ effect: @Sendable (Database, [Message]) throws -> Void, _ db: Database
    ) throws -> [(Arrived, any Error)] {
        do {
            try attempt(page, effect, db)
            return []
        } catch {
            guard isItsOwn(error, db) else { throw error }
            guard page.count > 1 else { return page.map { ($0, error) } }
        }
        return try page.flatMap { try apply([$0], effect, db) }
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

    /// - Throws: what the effect threw, having undone what it wrote.
    private static func attempt(
        _ page: [Arrived], _ effect: @Sendable (Database, [Message]) throws -> Void, _ db: Database
    ) throws {
        for case let damage? in page.lazy.map(\.damage) {
            throw HandOverFailure.permanent(damage.message)
        }
        let messages = page.map(\.message)
        try db.inSavepoint {
            try effect(db, messages)
            return .commit
        }
    }

    private static func ending(_ error: any Error, _ line: ReaderLine, failures: Int) -> Ending {
        Ending.after(
            error, line.options, failures: failures, now: line.timekeeper.wall(),
            jitter: line.jitter())
    }

    private func applyWhatIsDue() async throws {
        let now = line.timekeeper.wall()
        let (due, next) = try await line.due(at: now)
        nextDue = due.count == 100 ? now : next
        for exceptional in due where !Task.isCancelled {
            let ending = try await retry(exceptional)
            guard let ending, ending.state == .waiting else { continue }
            nextDue = min(nextDue ?? ending.due, ending.due)
        }
    }

    private func retry(_ exceptional: ReaderStore.Exceptional) async throws -> Ending? {
        let (line, effect, arrived) = (line, effect, exceptional.arrived)
        return try await line.persist { db in
            var ending: Ending?
            do {
                try Self.attempt([arrived], effect, db)
            } catch {
                guard Self.isItsOwn(error, db) else { throw error }
                ending = Self.ending(error, line, failures: exceptional.failures)
            }
            try line.store.settle(
                arrived.arrival, of: line.reader, attempts: arrived.message.attempt,
                failures: exceptional.failures + (ending?.isFailure == true ? 1 : 0), ending, db)
            return ending
        }
    }
}
