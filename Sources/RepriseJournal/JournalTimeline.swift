import GRDB
package import RepriseCore

/// What became of an entry, without its payload: for a report of a bug.
package struct EntryHistory: Codable, Sendable {
    package let id: String
    package let kind: String
    package let source: String?
    package let recordedAt: WallTime
    /// `ready`, `queued`, `delayed`, `inFlight`, or an outcome.
    package let state: String
    package let attempts: Int
    package let failures: Int
    package let reason: String?
}

extension Journal {
    /// The newest entries, oldest first.
    package func history(limit: Int) async throws -> [EntryHistory] {
        try await read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT id, kind, source, recordedAt, state, attempt, failures, reason
                    FROM entry ORDER BY seq DESC LIMIT ?
                    """, arguments: [limit])
            return rows.reversed().map { row in
                let code = Int.fromDatabaseValue(row[4]).flatMap(StateCode.init(rawValue:))
                return EntryHistory(
                    id: String.fromDatabaseValue(row[0]) ?? "?",
                    kind: String.fromDatabaseValue(row[1]) ?? "?",
                    source: String.fromDatabaseValue(row[2]),
                    recordedAt: WallTime(milliseconds: Int64.fromDatabaseValue(row[3]) ?? 0),
                    state: code.map { "\($0)" } ?? "unknown",
                    attempts: Int.fromDatabaseValue(row[5]) ?? 0,
                    failures: Int.fromDatabaseValue(row[6]) ?? 0,
                    reason: String.fromDatabaseValue(row[7]))
            }
        }
    }
}
