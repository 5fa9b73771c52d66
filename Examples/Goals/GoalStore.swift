public import Foundation
import GRDB
public import RepriseCore
public import RepriseReminders
import Synchronization

/// A person's goals, in a database of the app's own: the store of the demo's app, and an example of
/// a `DatabaseReminderStore`.
///
/// ```swift
/// let goals = GoalStore(at: folder.appendingPathComponent("goals.sqlite"))
/// configuration.reminders = .init(store: goals.reminders)
/// try await goals.pause(["read"])   // and what rang for it is taken back
/// ```
///
/// Nothing here calls the reminders, which observe the table of goals.
public final class GoalStore: Sendable {
    /// What goes wrong on demand, for a demo and for tests.
    public struct Faults: Sendable {
        /// How long ``GoalStore/load()`` takes.
        public var loading: Duration = .zero
        /// How often ``GoalStore/load()`` throws before it succeeds.
        public var failures = 0
        /// A file for which ``GoalStore/load()`` waits; nil: for none.
        public var awaited: URL?

        /// None.
        public init() {}
    }

    /// What reminders ask of the goals.
    public let reminders: DatabaseReminderStore
    private let database: GoalDatabase

    /// Names a database; ``load()`` opens it, or makes it.
    ///
    /// - Parameters:
    ///   - file: in a folder that is there.
    ///   - faults: what goes wrong.
    public init(at file: URL, faults: Faults = Faults()) {
        let database = GoalDatabase(at: file, faults: faults)
        self.database = database
        reminders = DatabaseReminderStore(
            observing: ["goal"], open: { try await database.open() },
            entity: { id, db in try Goal.fetch(id, db)?.entity },
            reminded: { db in try Goal.fetchReminded(db).map(\.reminded) },
            apply: { command, db in try Goal.apply(command, db) })
    }

    /// Opens the database; a second call does nothing.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.unavailable` if it is not to be loaded yet; what
    ///   SQLite throws.
    public func load() async throws { try await reminders.load() }

    // MARK: What the app does

    /// All goals, by their ids.
    public func goals() async throws -> [Goal] {
        try await database.pool.read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM goal ORDER BY id").map(Goal.init)
        }
    }

    /// What was answered for a goal, oldest first.
    public func answers(of goal: String) async throws -> [Answer] {
        try await database.pool.read { db in
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
        try await database.pool.write { db in for goal in goals { try goal.save(db) } }
    }

    /// Uses goals again, puts them aside for a while, or for good.
    public func set(_ state: Entity.State, _ ids: Set<String>) async throws {
        try await database.pool.write { db in
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
        try await database.pool.write { db in
            for id in ids where try Goal.fetch(id, db) != nil {
                try Goal.delete(id, at: now ?? .now, db)
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
        try await database.pool.write { db in
            let former = try String.fetchSet(db, sql: "SELECT id FROM goal")
            for id in former.subtracting(goals.map(\.id)) {
                try Goal.delete(id, replacedBy: replacements[id], at: now ?? .now, db)
            }
            for goal in goals { try goal.save(db) }
        }
    }
}

/// The goals' database, opened once.
private final class GoalDatabase: Sendable {
    private struct State {
        var failures: Int
        var pool: DatabasePool?
    }

    private let file: URL
    private let loading: Duration
    private let awaited: URL?
    private let state: Mutex<State>

    init(at file: URL, faults: GoalStore.Faults) {
        self.file = file
        (loading, awaited) = (faults.loading, faults.awaited)
        state = Mutex(State(failures: faults.failures))
    }

    func open() async throws -> DatabasePool {
        try await Task.sleep(for: loading)
        while let awaited, !FileManager.default.fileExists(atPath: awaited.path) {
            try await Task.sleep(for: .milliseconds(5))
        }
        let isToFail = state.withLock { state in
            state.failures -= 1
            return state.failures >= 0
        }
        if isToFail { throw RepriseError(.unavailable, "The goals are not to be loaded yet.") }
        let pool = try DatabasePool(path: file.path)
        try GoalTables.migrator.migrate(pool)
        state.withLock { $0.pool = pool }
        return pool
    }

    var pool: DatabasePool {
        get throws {
            guard let pool = state.withLock({ $0.pool }) else {
                throw RepriseError(
                    .unavailable, "The goals are not loaded.", remedy: "Call load() first.")
            }
            return pool
        }
    }
}

extension WallTime {
    /// What the device's calendar says.
    static var now: WallTime { SystemTimekeeper().wall() }
}
