import Foundation
import GRDB
import RepriseCore
import Synchronization

/// Commits together what arrives together.
///
/// Whatever waits while one commit is on its way to the disk shares the next one, each call in a savepoint of its
/// own, so that one that fails does not fail the others.
final class GroupWriter: Sendable {
    private struct Job: Sendable {
        let run: @Sendable (Database) throws -> Void
        let finish: @Sendable (Result<Void, any Error>) -> Void
    }

    private enum Verdict {
        case drain
        case wait
        case refuse(RepriseError)
    }

    private struct Queue {
        var jobs: [Job] = []
        var isDraining = false
        var isClosed = false
    }

    private let pool: DatabasePool
    private let store: EntryStore
    private let queue = Mutex(Queue())
    /// Hears what a commit brought; on the writer's thread, before those who wrote do.
    private let committed: @Sendable (Books.News) -> Void

    init(
        pool: DatabasePool, store: EntryStore, committed: @escaping @Sendable (Books.News) -> Void
    ) {
        self.pool = pool
        self.store = store
        self.committed = committed
    }

    /// Runs `body` in the next commit; returns once that is durable.
    func write<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(body) { continuation.resume(with: $0) }
        }
    }

    /// Runs `body` in the next commit, then calls `finish` on the writer's thread.
    ///
    /// Behind the `last` one it is closed.
    func enqueue<T: Sendable>(
        last: Bool = false, _ body: @escaping @Sendable (Database) throws -> T,
        finish: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        let slot = Slot<T>()
        let job = Job(
            run: { db in slot.value = try body(db) },
            finish: { result in
                finish(result.flatMap { slot.value.map(Result.success) ?? .failure(Self.closed) })
            })
        let verdict: Verdict = queue.withLock { queue in
            guard !queue.isClosed else { return .refuse(Self.closed) }
            guard last || queue.jobs.count < JournalLimits.waitingWrites else {
                return .refuse(Self.full)
            }
            queue.jobs.append(job)
            queue.isClosed = last
            defer { queue.isDraining = true }
            return queue.isDraining ? .wait : .drain
        }
        switch verdict {
        case .drain: pool.asyncWriteWithoutTransaction { [self] db in drain(db) }
        case .wait: break
        case .refuse(let error): finish(.failure(error))
        }
    }

    private func drain(_ db: Database) {
        while let group = nextGroup() { commit(group, in: db) }
    }

    private func nextGroup() -> [Job]? {
        queue.withLock { queue in
            guard !queue.jobs.isEmpty else {
                queue.isDraining = false
                return nil
            }
            let group = Array(queue.jobs.prefix(JournalLimits.writesPerCommit))
            queue.jobs.removeFirst(group.count)
            return group
        }
    }

    private func commit(_ group: [Job], in db: Database) {
        let before = store.books.withLock { $0 }
        var results: [Result<Void, any Error>] = []
        do {
            try db.inTransaction(.immediate) {
                try store.begin(db)
                results = try group.map { try run($0, in: db) }
                try store.finish(db)
                return .commit
            }
        } catch {
            store.books.withLock { $0 = before }
            let reason = JournalFailure.classify(error, path: pool.path)
            if JournalFailure.isDamage(error) { store.suspect() }
            for job in group { job.finish(.failure(reason)) }
            return
        }
        committed(store.books.withLock { $0.news })
        for (job, result) in zip(group, results) { job.finish(result) }
    }

    /// - Throws: what ends the whole transaction.
    private func run(_ job: Job, in db: Database) throws -> Result<Void, any Error> {
        let before = store.books.withLock { $0 }
        do {
            try db.inSavepoint {
                try job.run(db)
                return .commit
            }
            return .success(())
        } catch {
            // SQLite ends the whole transaction on some failures; what the others wrote is gone with it.
            guard db.isInsideTransaction else { throw error }
            store.books.withLock { $0 = before }
            if JournalFailure.isDamage(error) { store.suspect() }
            return .failure(JournalFailure.classify(error, path: pool.path))
        }
    }

    private static let closed = RepriseError(.closed, "The journal is closed.")
    private static let full = RepriseError(
        .full, "Too many writes wait for the disk.",
        remedy: "Wait for earlier calls to return before making more.")
}

/// A result on its way out of the writer's queue: written and read there alone, one after the other.
private final class Slot<T: Sendable>: @unchecked Sendable {  // confined to the writer's queue
    var value: T?
}
