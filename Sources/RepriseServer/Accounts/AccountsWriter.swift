import DequeModule
import Dispatch
package import GRDB
import RepriseCore
import Synchronization

/// Group commit for the accounts: writes submitted while a commit runs share the next one.
///
/// `Committer` does it for the log, where it also keeps submissions together and notifies
/// subscribers. Here each write is independent.
package final class AccountsWriter: Sendable {
    /// Writes, and returns a closure that runs once the write is durable, or has failed.
    private typealias Write = @Sendable (Database) throws -> @Sendable (RepriseError?) -> Void

    private struct Job {
        let write: Write
        let fail: @Sendable (RepriseError) -> Void
    }

    private struct State {
        var waiting: Deque<Job> = []
        var isRunning = false
        var isOpen = true
    }

    private let pool: DatabasePool
    /// Blocks on the disk in place of a thread of Swift's pool.
    private let queue = DispatchQueue(label: "reprise.accounts.writer")
    private let state = Mutex(State())
    private let waitingLimit: Int

    package init(_ pool: DatabasePool, waitingLimit: Int = AccountLimits.waitingWrites) {
        self.pool = pool
        self.waitingLimit = waitingLimit
    }

    /// Runs `body` in a durable transaction with others, then `committed` on the writer's queue;
    /// cancelling the caller stops neither.
    ///
    /// A `RepriseError` that `body` throws fails `body` alone, so it must be thrown before the
    /// first write. Any other error rolls the transaction back and fails all writes in it.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.full` if too many writes wait, `.closed`; the
    ///   errors of `body` and of the disk.
    package func write<Value: Sendable>(
        committed: @escaping @Sendable (Value) -> Void = { _ in },
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { done in
            let job = Job(
                write: { db in
                    let value = try body(db)
                    return { failure in
                        if let failure { return done.resume(throwing: failure) }
                        committed(value)
                        done.resume(returning: value)
                    }
                },
                fail: { done.resume(throwing: $0) })
            if let failure = add(job) { done.resume(throwing: failure) }
        }
    }

    /// Runs `body` outside of a transaction, between two commits.
    ///
    /// - Throws: what `body` throws, typed.
    package func afterCommits<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        do {
            return try await pool.writeWithoutTransaction(body)
        } catch {
            throw ServerDatabase.accounts.typed(error)
        }
    }

    /// Refuses writes from now on, and returns once accepted ones are done.
    package func close() async {
        state.withLock { $0.isOpen = false }
        await withCheckedContinuation { done in queue.async { done.resume() } }
    }

    private func add(_ job: Job) -> RepriseError? {
        let (failure, starts) = state.withLock { state -> (RepriseError?, Bool) in
            guard state.isOpen else {
                return (RepriseError(.closed, "The accounts are closed."), false)
            }
            guard state.waiting.count < waitingLimit else {
                return (
                    RepriseError(
                        .full, "Too many changes of accounts wait to be stored.",
                        remedy: "Try again shortly."), false
                )
            }
            state.waiting.append(job)
            defer { state.isRunning = true }
            return (nil, !state.isRunning)
        }
        if starts { queue.async { self.run() } }
        return failure
    }

    private func run() {
        while let jobs = next() { commit(jobs) }
    }

    private func next() -> [Job]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            let count = min(state.waiting.count, AccountLimits.writesPerCommit)
            defer { state.waiting.removeFirst(count) }
            return Array(state.waiting.prefix(count))
        }
    }

    private func commit(_ jobs: [Job]) {
        var written: [@Sendable (RepriseError?) -> Void] = []
        var refused: [(Job, RepriseError)] = []
        var failure: RepriseError?
        do {
            try pool.write { db in
                for job in jobs {
                    do {
                        written.append(try job.write(db))
                    } catch let error as RepriseError {
                        refused.append((job, error))
                    }
                }
            }
        } catch {
            failure = ServerDatabase.accounts.typed(error)
            // Jobs that were not reached must be answered here.
            for job in jobs.dropFirst(written.count + refused.count) {
                job.fail(ServerDatabase.accounts.typed(error))
            }
        }
        for (job, error) in refused { job.fail(error) }
        for done in written { done(failure) }
    }
}
