import Foundation
import GRDB
import NIOCore
import Synchronization

/// Rows committed with fsync, all that waits in one transaction: the least that *durable first*
/// costs.
final class BareStorage: Sendable {
    private struct Job: Sendable {
        var frames: [ByteBuffer]
        var then: @Sendable ([ByteBuffer]) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        var isWriting = false
        var count = 0
    }

    private let queue: DatabaseQueue
    private let state = Mutex(State())

    /// - Parameter folder: where the database is made.
    /// - Throws: what SQLite says.
    init(folder: String) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        }
        queue = try DatabaseQueue(path: folder + "/bare.sqlite", configuration: configuration)
        try queue.write {
            try $0.execute(sql: "CREATE TABLE m(seq INTEGER PRIMARY KEY, body BLOB)")
        }
    }

    /// Commits frames, then calls `then` with them.
    func store(_ frames: [ByteBuffer], then: @escaping @Sendable ([ByteBuffer]) -> Void) {
        let begins = state.withLock { state in
            state.waiting.append(Job(frames: frames, then: then))
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { queue.asyncWriteWithoutTransaction { [self] db in drain(db) } }
    }

    private func drain(_ db: Database) {
        while true {
            let jobs = state.withLock { state in
                let jobs = state.waiting
                state.waiting = []
                state.isWriting = !jobs.isEmpty
                return jobs
            }
            guard !jobs.isEmpty else { return }
            do {
                try db.inTransaction {
                    for frame in jobs.lazy.flatMap(\.frames) {
                        try db.cachedStatement(sql: "INSERT INTO m(body) VALUES(?)")
                            .execute(arguments: [Data(frame.readableBytesView)])
                    }
                    return .commit
                }
            } catch {
                FileHandle.standardError.write(Data("bare storage: \(error)\n".utf8))
            }
            for job in jobs { job.then(job.frames) }
        }
    }
}
