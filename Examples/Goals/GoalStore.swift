public import Foundation
import GRDB
public import RepriseCore
public import RepriseReminders
import Synchronization

/// A person's goals, in a database of the app's own: the store of the demo's app, and an example of
/// a `ReminderStore`.
///
/// ```swift
/// let goals = GoalStore(at: folder.appendingPathComponent("goals.sqlite"))
/// configuration.reminders = .init(store: goals)
/// try await goals.pause(["read"])   // and what rang for it is taken back
/// ```
///
/// Nothing here calls the reminders: it says what has changed, after the commit, and they ask.
public final class GoalStore: Sendable {
    /// What goes wrong on demand, for a demo and for tests.
    public struct Faults: Sendable {
        /// How long ``GoalStore/load()`` takes.
        public var loading: Duration = .zero
        /// How often ``GoalStore/load()`` throws before it succeeds.
        public var failures = 0

        /// None.
        public init() {}
    }

    private enum Phase {
        case unloaded(failures: Int)
        case loaded(DatabasePool)
    }

    private let file: URL
    private let faults: Faults
    private let phase: Mutex<Phase>
    private let feed = ChangeFeed()

    /// Names a database; ``load()`` opens it, or makes it.
    ///
    /// - Parameters:
    ///   - file: in a folder that is there.
    ///   - faults: what goes wrong.
    public init(at file: URL, faults: Faults = Faults()) {
        self.file = file
        self.faults = faults
        phase = Mutex(.unloaded(failures: faults.failures))
    }

    /// Opens the database; a second call does nothing.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if it is not to be loaded yet; what
    ///   SQLite throws.
    public func load() async throws {
        try await Task.sleep(for: faults.loading)
        let isToFail = phase.withLock { phase in
            guard case .unloaded(let failures) = phase, failures > 0 else { return false }
            phase = .unloaded(failures: failures - 1)
            return true
        }
        if isToFail { throw RepriseError(.unavailable, "The goals are not to be loaded yet.") }
        let pool = try DatabasePool(path: file.path)
        try GoalTables.migrator.migrate(pool)
        phase.withLock { phase in
            if case .unloaded = phase { phase = .loaded(pool) }
        }
    }

    private func pool() throws -> DatabasePool {
        guard case .loaded(let pool) = phase.withLock({ $0 }) else {
            throw RepriseError(
                .unavailable, "The goals are not loaded.", remedy: "Call load() first.")
        }
        return pool
    }

    func read<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T {
        try await pool().read(body)
    }

    /// Writes, and once that is committed says what has changed.
    @discardableResult
    func write<T: Sendable>(
        _ change: ReminderChange, _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        let result = try await pool().write(body)
        feed.tell(change)
        return result
    }

    /// What has changed, once it is committed.
    public var changes: AsyncStream<ReminderChange> { feed.listen() }
}

// MARK: What the app does

extension GoalStore {
    /// All goals, by their ids.
    public func goals() async throws -> [Goal] {
        try await read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM goal ORDER BY id").map(Goal.init)
        }
    }

    /// What was answered for a goal, oldest first.
    public func answers(of goal: String) async throws -> [Answer] {
        try await read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM answer WHERE goal = ? ORDER BY seq", arguments: [goal]
            ).map { row in
                Answer(
                    goal: row["goal"], question: row["question"], text: row["text"],
                    at: WallTime(milliseconds: row["at"]))
            }
        }
    }

    /// Adds goals, or replaces those of the same ids.
    public func save(_ goals: [Goal]) async throws {
        try await write(.entities(Set(goals.map(\.id)))) { db in
            for goal in goals { try goal.save(db) }
        }
    }

    /// Uses goals again, puts them aside for a while, or for good.
    public func set(_ state: Entity.State, _ ids: Set<String>) async throws {
        try await write(.entities(ids)) { db in
            for id in ids {
                try db.execute(
                    sql: "UPDATE goal SET state = ? WHERE id = ?", arguments: [state.rawValue, id])
            }
        }
    }

    /// Puts goals aside for a while.
    public func pause(_ ids: Set<String>) async throws { try await set(.paused, ids) }

    /// Deletes goals with their answers; a tombstone of each stays.
    public func delete(_ ids: Set<String>, at now: WallTime? = nil) async throws {
        try await write(.entities(ids)) { db in
            for id in ids where try Goal.fetch(id, db) != nil {
                try Self.bury(id, at: now ?? .now, db)
            }
        }
    }

    /// Replaces everything, as when a backup is read.
    ///
    /// - Parameters:
    ///   - goals: those that there are from now on.
    ///   - replacements: for an import that gives new ids: the new id of each old one.
    ///   - now: when those that are not among them were deleted; nil: now.
    /// - Throws: what SQLite throws; then nothing has changed.
    public func importAll(
        _ goals: [Goal], replacing replacements: [String: String] = [:], at now: WallTime? = nil
    ) async throws {
        try await write(.everything) { db in
            let former = try String.fetchSet(db, sql: "SELECT id FROM goal")
            for id in former.subtracting(goals.map(\.id)) {
                try Self.bury(id, replacedBy: replacements[id], at: now ?? .now, db)
            }
            for goal in goals { try goal.save(db) }
        }
    }

    private static func bury(
        _ id: String, replacedBy: String? = nil, at now: WallTime, _ db: Database
    ) throws {
        try db.execute(sql: "DELETE FROM goal WHERE id = ?", arguments: [id])
        if let replacedBy {
            try db.execute(
                sql: "UPDATE answer SET goal = ? WHERE goal = ?", arguments: [replacedBy, id])
        } else {
            try db.execute(sql: "DELETE FROM answer WHERE goal = ?", arguments: [id])
        }
        try db.execute(
            sql: "INSERT OR REPLACE INTO tombstone VALUES (?, ?, ?)",
            arguments: [id, now.milliseconds, replacedBy])
    }
}

extension WallTime {
    /// What the device's calendar says.
    static var now: WallTime {
        WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
    }
}
