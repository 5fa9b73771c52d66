import GRDB
import RepriseCore

/// One transaction for a group of jobs, each in a savepoint of its own, so that a failing job does
/// not fail the others.
struct GroupCommit: Sendable {
    typealias Job = (Database) throws -> Void

    let store: EntryStore
    /// The database's path, to tell a full disk from a broken one.
    let path: String

    /// Returns once it is durable.
    ///
    /// - Returns: the result of each job, and the events of the commit.
    /// - Throws: why nothing of it was written; the state in memory is restored.
    func perform(_ group: [Job], in db: Database) throws -> (
        results: [Result<Void, any Error>], news: CommitEvents
    ) {
        let before = store.savepoint()
        var results: [Result<Void, any Error>] = []
        do {
            try db.cachedStatement(sql: "BEGIN IMMEDIATE TRANSACTION").execute()
            try store.begin(db)
            results = try group.map { try run($0, in: db) }
            try store.finish(db)
            try db.cachedStatement(sql: "COMMIT TRANSACTION").execute()
        } catch {
            if db.isInsideTransaction { try? db.rollback() }
            store.rollBack(to: before)
            if JournalFailure.isDamage(error) { store.suspect() }
            throw JournalFailure.classify(error, path: path)
        }
        return (results, store.news)
    }

    /// Runs a job, and again without the damaged rows that it met.
    ///
    /// - Throws: an error that ends the whole transaction.
    private func run(_ job: Job, in db: Database) throws -> Result<Void, any Error> {
        let result = try attempt(job, in: db)
        guard case .failure(let error) = result, JournalFailure.isOfAType(error) else {
            return result
        }
        var found = 0
        let mending = try attempt({ found = try store.quarantineBroken(all: true, $0) }, in: db)
        guard case .success = mending, found > 0 else { return result }
        return try attempt(job, in: db)
    }

    private func attempt(_ job: Job, in db: Database) throws -> Result<Void, any Error> {
        let before = store.savepoint()
        // As above: `inTransaction` and `inSavepoint` have SQLite parse their statements again.
        func perform(_ sql: String) throws { try db.cachedStatement(sql: sql).execute() }
        try perform("SAVEPOINT job")
        do {
            try job(db)
            try perform("RELEASE SAVEPOINT job")
            return .success(())
        } catch {
            // SQLite ends the whole transaction on some failures; the other jobs' writes are lost
            // with it.
            guard db.isInsideTransaction else { throw error }
            try perform("ROLLBACK TO SAVEPOINT job")
            try perform("RELEASE SAVEPOINT job")
            store.rollBack(to: before)
            if JournalFailure.isDamage(error) { store.suspect() }
            return .failure(JournalFailure.classify(error, path: path))
        }
    }
}
