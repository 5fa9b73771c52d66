import Foundation
import GRDB
import RepriseCore
import RepriseReminders
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

/// As in docs/reminders/stores.md, word for word.
struct Habit: Codable, FetchableRecord, PersistableRecord {
    var id: String
    var title: String
    var isPaused = false
    var reminders: [Reminder] = []  // a column of JSON
}

/// The example of docs/reminders/stores.md, played.
@Suite("Reminders over GRDB")
struct DatabaseReminderStoreTests {
    private static func make(at path: String) throws -> (DatabasePool, DatabaseReminderStore) {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("habits") { db in
            try db.create(table: "habit") { table in
                table.primaryKey("id", .text)
                table.column("title", .text).notNull()
                table.column("isPaused", .boolean).notNull()
                table.column("reminders", .jsonText).notNull()
            }
            try db.create(table: "answer") { table in
                table.column("habit", .text).notNull()
                table.column("text", .text).notNull()
            }
            try DatabaseReminderStore.createTables(in: db)
        }
        let pool = try DatabasePool(path: path)
        let store = DatabaseReminderStore(
            observing: ["habit"],
            open: { [migrator] in
                try migrator.migrate(pool)
                return pool
            },
            entity: { id, db in
                try Habit.fetchOne(db, key: id).map {
                    Entity(id: $0.id, title: $0.title, state: $0.isPaused ? .paused : .active)
                }
            },
            reminded: { db in
                try Habit.filter(Column("isPaused") == false).fetchAll(db).map {
                    RemindedEntity(id: $0.id, reminders: $0.reminders)
                }
            },
            apply: { command, db in
                let id = command.entity.id
                switch command.action {
                case .pause:
                    try db.execute(
                        sql: "UPDATE habit SET isPaused = TRUE WHERE id = ?", arguments: [id])
                case .log(let text):
                    try db.execute(
                        sql: "INSERT INTO answer (habit, text) VALUES (?, ?)",
                        arguments: [id, text])
                }
            })
        return (pool, store)
    }

    private static func delete(_ habit: Habit, in pool: DatabasePool) async throws {
        try await pool.write { db in
            _ = try habit.delete(db)
            try DatabaseReminderStore.recordDeletion(of: habit.id, in: db)
        }
    }

    private static let run = Habit(
        id: "run", title: "Run",
        reminders: [
            Reminder(
                id: "morning", schedule: Schedule(.daily, at: [TimeOfDay(7, 30)]), title: "Run!")
        ])

    private let folder: TemporaryFolder
    private let pool: DatabasePool
    private let store: DatabaseReminderStore

    init() throws {
        folder = try TemporaryFolder()
        (pool, store) = try Self.make(at: folder.appending("habits.sqlite").path)
    }

    private func find(_ id: String) async throws -> EntityFinding {
        try await store.find(Route(sort: "habit", id: id))
    }

    private func command(_ action: ReminderCommand.Action) -> ReminderCommand {
        ReminderCommand(
            id: .random(), action: action, entity: Entity(id: "run", title: "Run"), part: nil,
            occurrence: nil)
    }

    private var answers: [String] {
        get async throws {
            try await pool.read { db in try String.fetchAll(db, sql: "SELECT text FROM answer") }
        }
    }

    @Test(
        "pending requests follow the table after every write, without a call of the reminders")
    func follows() async throws {
        let fixture = try RemindersFixture()
        let process = try await fixture.open(store: store)
        try await process.quiet()
        #expect(fixture.system.pending.isEmpty)
        try await pool.write { db in try Self.run.insert(db) }
        try await eventually("it rings") { fixture.system.pending.count == 60 }
        try await store.apply(command(.pause))
        try await eventually("it is silent") { fixture.system.pending.isEmpty }
        try await pool.write { db in try db.execute(sql: "UPDATE habit SET isPaused = FALSE") }
        try await eventually("it rings again") { fixture.system.pending.count == 60 }
        try await Self.delete(Self.run, in: pool)
        try await eventually("it is silent again") { fixture.system.pending.isEmpty }
        await process.close()
    }

    /// What is in a stream now.
    private func told(_ changes: AsyncStream<ReminderChange>) async -> [ReminderChange] {
        let reading = Task { await changes.reduce(into: []) { $0.append($1) } }
        // What is buffered is read all the same.
        reading.cancel()
        return await reading.value
    }

    @Test("a commit to an observed table is told; one to another table, or none, is not")
    func observes() async throws {
        try await store.load()
        try await store.load()
        let quiet = store.changes
        try await store.apply(command(.log("yes")))
        await #expect(throws: CancellationError.self) {
            try await pool.write { db in
                try Self.run.insert(db)
                throw CancellationError()
            }
        }
        #expect(await told(quiet) == [])
        let changes = store.changes
        try await pool.write { db in try Self.run.insert(db) }
        #expect(await told(changes) == [.everything])
    }

    @Test("an action takes effect once and with its id, or not at all")
    func once() async throws {
        try await store.load()
        let answer = command(.log("yes"))
        for _ in 0..<2 { try await store.apply(answer) }
        #expect(try await answers == ["yes"])
        #expect(try await store.isApplied(answer.id))
        let other = command(.log("no"))
        try await pool.write { db in try db.rename(table: "answer", to: "hidden") }
        await #expect(throws: DatabaseError.self) { try await store.apply(other) }
        #expect(try await !store.isApplied(other.id))
        try await pool.write { db in try db.rename(table: "hidden", to: "answer") }
        try await store.apply(other)
        #expect(try await answers == ["yes", "no"])
    }

    @Test("an entity is found, or what became of it, as far as imports lead")
    func finds() async throws {
        try await store.load()
        let when = WallTime(milliseconds: 1_000)
        try await pool.write { db in
            try Habit(id: "rest", title: "Rest", isPaused: true).insert(db)
            for (id, next) in [
                ("gone", nil), ("a", "b"), ("b", "rest"), ("x", "y"), ("y", "x"), ("z", "lost"),
                ("rest", "gone"),
            ] {
                try DatabaseReminderStore.recordDeletion(
                    of: id, replacedBy: next, at: when, in: db)
            }
        }
        let rest = Entity(id: "rest", title: "Rest", state: .paused)
        #expect(try await find("rest") == .found(rest))
        #expect(try await find("gone") == .deleted(when: when))
        #expect(try await find("a") == .replaced(by: rest))
        #expect(try await find("x") == .deleted(when: when))
        #expect(try await find("z") == .deleted(when: when))
        #expect(try await find("never") == .unknown)
        #expect(try await store.reminded() == [])
    }

    @Test(
        "a database that cannot be observed is refused with a remedy, and nothing is read from it",
        arguments: [
            (["habit"], "CREATE TABLE habit (id TEXT)", "has no tables"),
            ([], nil, "No table"), (["habits"], nil, "“habits”"),
            (["view"], "CREATE VIEW view AS SELECT 1", "“view”"),
            (["t"], "CREATE TABLE t (id TEXT PRIMARY KEY) WITHOUT ROWID", "WITHOUT ROWID"),
        ] as [([String], String?, String)])
    func refuses(_ tables: [String], _ sql: String?, _ message: String) async throws {
        let queue = try DatabaseQueue()
        let store = DatabaseReminderStore(
            observing: tables, open: { queue }, entity: { _, _ in nil }, reminded: { _ in [] },
            apply: { _, _ in })
        try await queue.write { db in
            if let sql { try db.execute(sql: sql) }
            if tables != ["habit"] { try DatabaseReminderStore.createTables(in: db) }
        }
        let error = await #expect(throws: RepriseError.self) { try await store.load() }
        #expect(error?.code == .badConfiguration && error?.remedy != nil)
        #expect(error?.message.contains(message) ?? false, "\(String(describing: error))")
        let unloaded = await #expect(throws: RepriseError.self) { try await store.reminded() }
        #expect(unloaded?.code == .unavailable)
    }

    @Test("a database that cannot be opened yet is opened later")
    func opens() async throws {
        let attempts = Mutex(0)
        let queue = try DatabaseQueue()
        try await queue.write { db in
            try DatabaseReminderStore.createTables(in: db)
            try db.execute(sql: "CREATE TABLE thing (id TEXT)")
        }
        let store = DatabaseReminderStore(
            observing: ["thing"],
            open: {
                let attempt = attempts.withLock { attempts in
                    attempts += 1
                    return attempts
                }
                if attempt == 1 { throw RepriseError(.unavailable, "The phone is locked.") }
                return queue
            }, entity: { _, _ in nil }, reminded: { _ in [] }, apply: { _, _ in })
        await #expect(throws: RepriseError.self) { try await store.load() }
        for _ in 0..<2 { try await store.load() }
        #expect(attempts.withLock(\.self) == 2)
        #expect(try await store.reminded() == [])
    }

    @Test(
        "the newest 10,000 deletions and actions are kept", .limit("reminders.database"))
    func bounded() async throws {
        try await store.load()
        try await pool.write { db in
            for number in 0...10_000 {
                try DatabaseReminderStore.recordDeletion(
                    of: "d\(number)", at: WallTime(milliseconds: 0), in: db)
            }
            for number in 0..<10_000 {
                try db.execute(
                    sql: "INSERT INTO repriseReminderCommand (id) VALUES (?)",
                    arguments: ["c\(number)"])
            }
        }
        #expect(try await find("d0") == .unknown)
        #expect(try await find("d1") == .deleted(when: WallTime(milliseconds: 0)))
        #expect(try await store.isApplied(EntryID("c0")))
        try await store.apply(command(.log("yes")))
        #expect(try await !store.isApplied(EntryID("c0")))
        #expect(try await store.isApplied(EntryID("c1")))
    }
}
