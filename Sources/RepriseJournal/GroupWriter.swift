import GRDB
import RepriseCore
import Synchronization

/// Commits concurrent writes together, on the writer's thread.
///
/// `WriteQueue` decides the group; `GroupCommit` commits it.
final class GroupWriter: Sendable {
    private struct Job: Sendable {
        let run: @Sendable (Database) throws -> Void
        let finish: @Sendable (Result<Void, any Error>) -> Void
    }

    private let pool: DatabasePool
    private let commit: GroupCommit
    private let queue = Mutex(WriteQueue<Job>())
    /// Receives the events of a commit; on the writer's thread, before the writing callers resume.
    private let committed: @Sendable (CommitEvents) -> Void

    init(
        pool: DatabasePool, store: EntryStore, committed: @escaping @Sendable (CommitEvents) -> Void
    ) {
        self.pool = pool
        self.committed = committed
        commit = GroupCommit(store: store, path: pool.path)
    }

    /// Runs `body` in the next commit; returns once that is durable.
    func write<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            enqueue(body) { continuation.resume(with: $0) }
        }
    }

    /// Runs `body` in the next commit, then calls `finish` on the writer's thread.
    ///
    /// After the `last` one it is closed.
    func enqueue<T: Sendable>(
        last: Bool = false, _ body: @escaping @Sendable (Database) throws -> T,
        finish: @escaping @Sendable (Result<T, any Error>) -> Void
    ) {
        let slot = Slot<T>()
        let job = Job(
            run: { db in slot.value = try body(db) },
            finish: { result in
                finish(
                    result.flatMap {
                        slot.value.map(Result.success) ?? .failure(WriteQueue<Job>.closed)
                    })
            })
        switch queue.withLock({ $0.add(job, last: last) }) {
        case .begin: pool.asyncWriteWithoutTransaction { [self] db in drain(db) }
        case .wait: break
        case .refuse(let error): finish(.failure(error))
        }
    }

    private func drain(_ db: Database) {
        while let group = queue.withLock({ $0.nextGroup() }) { commit(group, in: db) }
    }

    private func commit(_ group: [Job], in db: Database) {
        do {
            let (results, news) = try commit.perform(group.map(\.run), in: db)
            committed(news)
            for (job, result) in zip(group, results) { job.finish(result) }
        } catch {
            for job in group { job.finish(.failure(error)) }
        }
    }
}

/// A result on its way out of the writer's queue: written and read there alone, in sequence.
private final class Slot<T: Sendable>: @unchecked Sendable {  // confined to the writer's queue
    var value: T?
}
