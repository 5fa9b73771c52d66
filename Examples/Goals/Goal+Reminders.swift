import GRDB
import RepriseCore
import RepriseReminders

/// What reminders ask of a goal.
extension Goal {
    var reminded: RemindedEntity { RemindedEntity(id: id, owner: owner, reminders: reminders) }

    /// Does what was chosen on a notification.
    ///
    /// An answer is kept for a paused goal too: it was asked for before that.
    static func apply(_ command: ReminderCommand, _ db: Database) throws {
        switch command.action {
        case .log(let text): try store(text, command, db)
        case .pause:
            try db.execute(
                sql: "UPDATE goal SET state = 'paused' WHERE id = ? AND state = 'active'",
                arguments: [command.entity.id])
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
