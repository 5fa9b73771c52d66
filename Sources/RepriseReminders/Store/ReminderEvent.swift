import GRDB
import RepriseCore

/// The findings of a reconciliation that are not written yet.
struct ReminderEvent {
    private let record: ReconciliationRecord
    private var changed: [ReconciliationRecord.Row] = []
    private var gone: [String] = []
    private var isSummaryNew = false
    private var decisions: [ReconciliationRecord.Decision] = []

    init(_ record: ReconciliationRecord, beside db: Database) throws {
        self.record = record
        let former = try Self.rows(db)
        changed = record.rows.filter { former[$0.id] != $0 }
        let ids = Set(record.rows.map(\.id))
        gone = former.keys.filter { !ids.contains($0) }.sorted()
        isSummaryNew = try Self.summary(db) != record.summary
        // Refused and invalid requests stay so over many starts, and are reported once.
        decisions = try record.decisions.filter { decision in
            switch decision.what {
            case .refused, .invalid: return try !Self.isSaid(decision, db)
            case .add, .replace, .remove, .removeDelivered, .skipped: return true
            }
        }
    }

    var isEmpty: Bool {
        changed.isEmpty && gone.isEmpty && !isSummaryNew && decisions.isEmpty
            && record.over.isEmpty
    }

    func write(in db: Database) throws {
        guard !isEmpty else { return }
        for id in gone {
            try db.cachedStatement(sql: "DELETE FROM reminderPlan WHERE id = ?")
                .execute(arguments: [id])
        }
        for row in changed {
            try db.cachedStatement(
                sql: "INSERT OR REPLACE INTO reminderPlan VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
            ).execute(arguments: [
                row.id, row.entity, row.reminder, row.title, row.at.milliseconds, row.local,
                row.zone, row.status.rawValue, row.reason,
            ])
        }
        let summary = record.summary
        try db.execute(
            sql: "INSERT OR REPLACE INTO reminderSurvey VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                record.at.milliseconds, record.cause.rawValue, summary.permission, summary.zone,
                summary.entities, summary.reminders, summary.guaranteedUntil?.milliseconds,
                summary.fault,
            ])
        for decision in decisions {
            try db.cachedStatement(
                sql: """
                    INSERT INTO reminderDecision (at, what, request, entity, reason)
                    VALUES (?, ?, ?, ?, ?)
                    """
            ).execute(arguments: [
                decision.at.milliseconds, decision.what.rawValue, decision.request,
                decision.entity, String(decision.reason.prefix(1_024)),
            ])
        }
        if !decisions.isEmpty {
            try db.execute(
                sql: """
                    DELETE FROM reminderDecision
                    WHERE seq <= (SELECT MAX(seq) FROM reminderDecision) - ?
                    """, arguments: [ReminderEngineLimits.decisions])
        }
        try ReminderPlanStore.unmark(record.over, in: db)
    }

    private static func rows(_ db: Database) throws -> [String: ReconciliationRecord.Row] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT id, entity, reminder, title, at, local, zone, status, reason
                FROM reminderPlan
                """
        ).compactMap { row -> (String, ReconciliationRecord.Row)? in
            guard let id = String.fromDatabaseValue(row[0]) else { return nil }
            let status = String.fromDatabaseValue(row[7]).flatMap(
                ReconciliationRecord.Row.Status.init)
            let found = ReconciliationRecord.Row(
                id: id, entity: String.fromDatabaseValue(row[1]) ?? "",
                reminder: String.fromDatabaseValue(row[2]) ?? "",
                title: String.fromDatabaseValue(row[3]) ?? "",
                at: WallTime(milliseconds: Int64.fromDatabaseValue(row[4]) ?? 0),
                local: String.fromDatabaseValue(row[5]) ?? "",
                zone: String.fromDatabaseValue(row[6]) ?? "", status: status ?? .extra,
                reason: String.fromDatabaseValue(row[8]))
            return (id, found)
        }
        return Dictionary(rows) { first, _ in first }
    }

    private static func summary(_ db: Database) throws -> ReconciliationRecord.Summary? {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT permission, zone, entities, reminders, guaranteedUntil, fault
                FROM reminderSurvey
                """)
        guard let row else { return nil }
        return ReconciliationRecord.Summary(
            permission: String.fromDatabaseValue(row[0]) ?? "",
            zone: String.fromDatabaseValue(row[1]) ?? "",
            entities: Int.fromDatabaseValue(row[2]) ?? -1,
            reminders: Int.fromDatabaseValue(row[3]) ?? -1,
            guaranteedUntil: Int64.fromDatabaseValue(row[4]).map { WallTime(milliseconds: $0) },
            fault: String.fromDatabaseValue(row[5]))
    }

    private static func isSaid(_ decision: ReconciliationRecord.Decision, _ db: Database) throws
        -> Bool
    {
        let former = try String.fetchOne(
            db,
            sql: """
                SELECT reason FROM reminderDecision WHERE request = ?
                ORDER BY seq DESC LIMIT 1
                """, arguments: [decision.request])
        return former == String(decision.reason.prefix(1_024))
    }
}
