import GRDB
public import RepriseCore
public import RepriseReminders

/// What reminders ask of the goals.
extension GoalStore: ReminderStore {
    /// Looks a goal up, whatever its state; a tombstone leads on to the goal that has taken its
    /// place.
    public func find(_ route: Route) async throws -> EntityFinding {
        try await read { db in
            if let goal = try Goal.fetch(route.id, db) { return .found(goal.entity) }
            var id = route.id
            var when: WallTime?
            // Bounded: one who imports back and forth could lead in a circle.
            for _ in 0..<8 {
                let row = try Row.fetchOne(
                    db, sql: "SELECT deleted, replacedBy FROM tombstone WHERE id = ?",
                    arguments: [id])
                guard let row else { break }
                when = WallTime(milliseconds: row["deleted"])
                guard let next = String.fromDatabaseValue(row["replacedBy"]) else { break }
                if let goal = try Goal.fetch(next, db) { return .replaced(by: goal.entity) }
                id = next
            }
            return when.map { .deleted(when: $0) } ?? .unknown
        }
    }

    /// All goals in use that ring.
    public func reminded() async throws -> [RemindedEntity] {
        try await read { db in try Goal.fetchReminded(db).map(\.reminded) }
    }

    /// These of them.
    public func reminded(_ ids: Set<String>) async throws -> [RemindedEntity] {
        try await read { db in
            try ids.compactMap { id in
                guard let goal = try Goal.fetch(id, db), goal.state == .active,
                    !goal.reminders.isEmpty
                else { return nil }
                return goal.reminded
            }
        }
    }

    /// Does what was chosen on a notification, once: the command's id is written with its effect.
    ///
    /// An answer is kept for a paused goal too: it was asked for before that.
    public func apply(_ command: ReminderCommand) async throws {
        let id = command.entity.id
        try await write(.entities([id])) { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO command VALUES (?)", arguments: [command.id.text])
            guard db.changesCount == 1 else { return }
            switch command.action {
            case .log(let text): try Self.store(text, command, db)
            case .pause:
                try db.execute(
                    sql: "UPDATE goal SET state = 'paused' WHERE id = ? AND state = 'active'",
                    arguments: [id])
            }
        }
    }

    /// Whether a command has taken effect.
    public func isApplied(_ id: EntryID) async throws -> Bool {
        try await read { db in
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM command WHERE id = ?)",
                arguments: [id.text]) ?? false
        }
    }

    private static func store(_ text: String, _ command: ReminderCommand, _ db: Database) throws {
        guard let goal = try Goal.fetch(command.entity.id, db) else {
            throw DispatchFailure.permanent("The goal was deleted.")
        }
        // A reminder of the goal as a whole is answered with its first question.
        let question = goal.questions.first { $0.id == command.part } ?? goal.questions.first
        guard let question else { throw DispatchFailure.permanent("The goal asks nothing.") }
        guard question.takes(text) else {
            throw DispatchFailure.permanent("“\(question.title)” does not take this answer.")
        }
        try db.execute(
            sql: "INSERT INTO answer (goal, question, text, at) VALUES (?, ?, ?, ?)",
            arguments: [goal.id, question.id, text, WallTime.now.milliseconds])
    }
}

extension Goal {
    var reminded: RemindedEntity { RemindedEntity(id: id, owner: owner, reminders: reminders) }
}
