import GRDB
import RepriseCore
import RepriseReminders

/// How goals lie in their database.
enum GoalTables {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE goal (
                        id TEXT PRIMARY KEY,
                        title TEXT NOT NULL,
                        state TEXT NOT NULL,
                        owner TEXT,
                        -- As JSON: they are read and written whole.
                        questions TEXT NOT NULL,
                        reminders TEXT NOT NULL
                    ) STRICT;

                    CREATE TABLE answer (
                        seq INTEGER PRIMARY KEY,
                        goal TEXT NOT NULL,
                        question TEXT NOT NULL,
                        text TEXT NOT NULL,
                        at INTEGER NOT NULL
                    ) STRICT;
                    CREATE INDEX answerOfGoal ON answer (goal);
                    """)
            try DatabaseReminderStore.createTables(in: db)
        }
        return migrator
    }
}

extension Goal {
    static func fetch(_ id: String, _ db: Database) throws -> Goal? {
        try Row.fetchOne(db, sql: "SELECT * FROM goal WHERE id = ?", arguments: [id]).map(Goal.init)
    }

    /// Those that ring.
    static func fetchReminded(_ db: Database) throws -> [Goal] {
        try Row.fetchAll(
            db, sql: "SELECT * FROM goal WHERE state = 'active' AND reminders <> '[]' ORDER BY id"
        ).map(Goal.init)
    }

    init(_ row: Row) throws {
        self.init(
            id: row["id"], title: row["title"],
            state: Entity.State(rawValue: row["state"]) ?? .archived, owner: row["owner"],
            questions: try JSON.read(row["questions"]), reminders: try JSON.read(row["reminders"]))
    }

    func save(_ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO goal VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [
                id, title, state.rawValue, owner, try JSON.write(questions),
                try JSON.write(reminders),
            ])
    }

    /// Deletes a goal with its answers, which its replacement takes over, if it has one.
    static func delete(
        _ id: String, replacedBy: String? = nil, at now: WallTime, _ db: Database
    ) throws {
        try db.execute(sql: "DELETE FROM goal WHERE id = ?", arguments: [id])
        if let replacedBy {
            try db.execute(
                sql: "UPDATE answer SET goal = ? WHERE goal = ?", arguments: [replacedBy, id])
        } else {
            try db.execute(sql: "DELETE FROM answer WHERE goal = ?", arguments: [id])
        }
        try DatabaseReminderStore.recordDeletion(of: id, replacedBy: replacedBy, at: now, in: db)
    }
}
