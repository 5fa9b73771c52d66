package import GRDB
package import RepriseCore

/// Why a form did not come for an event, or not yet.
package struct FormsDecisionRow: Hashable, Sendable {
    package var form: String
    package var reason: String
    /// When it is decided again; nil: not by itself.
    package var until: WallTime?

    package init(form: String, reason: String, until: WallTime? = nil) {
        (self.form, self.reason, self.until) = (form, reason, until)
    }

    /// Replaces the former one of the form; of those of an event the newest stay.
    package func write(_ event: EntryID, at now: WallTime, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO formsDecision (entry, form, at, until, reason)
                VALUES (?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            event.text, form, now.milliseconds, until?.milliseconds, reason,
        ])
        try db.cachedStatement(
            sql: """
                DELETE FROM formsDecision WHERE entry = ?1 AND form IN (
                    SELECT form FROM formsDecision WHERE entry = ?1
                    ORDER BY at DESC, form LIMIT -1 OFFSET ?2)
                """
        ).execute(arguments: [event.text, FormsEngineLimits.decisionsOfEvent])
    }
}
