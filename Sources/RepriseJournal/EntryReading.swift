package import GRDB
package import RepriseCore

/// Where one entry is and what it waits for, without its payload.
package struct EntryReading: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        /// Waits for its gate.
        case ready
        /// Waits for so many earlier entries of its partition key.
        case queued(behind: Int64)
        /// Waits for its time.
        case delayed(until: WallTime)
        /// In flight; or it was, when its process died.
        case inFlight
        case ended(Outcome)
    }

    package let kind: String
    package let source: String
    package let partitionKey: String?
    package let recordedAt: WallTime
    package let place: Place
    /// How often it was dispatched.
    package let attempts: Int64
    package let failures: Int64
    /// Why it ended as it did, or why the last attempt failed.
    package let reason: String?
}

extension Journal {
    /// Looks up where an entry is.
    ///
    /// - Returns: nil for an unknown id.
    /// - Throws: ``RepriseCore/RepriseError`` `.corrupt` for a row that cannot be read, and
    ///   database errors.
    package static func reading(of id: EntryID, in db: Database) throws -> EntryReading? {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT seq, kind, source, lane, recordedAt, state, attempt, failures, reason, due
                FROM entry WHERE id = ?
                """, arguments: [id.text])
        guard let row else { return nil }
        func integer(_ column: Int) throws -> Int64 {
            guard let value = Int64.fromDatabaseValue(row[column]) else { throw damaged(id) }
            return value
        }
        func text(_ column: Int) -> String? { String.fromDatabaseValue(row[column]) }
        guard let kind = text(1), let source = text(2),
            let code = StateCode(rawValue: Int(clamping: try integer(5)))
        else { throw damaged(id) }
        let place: EntryReading.Place
        switch code {
        case .ready: place = .ready
        case .queued:
            place = .queued(behind: try earlier(than: try integer(0), of: text(3), in: db))
        case .delayed: place = .delayed(until: WallTime(milliseconds: try integer(9)))
        case .inFlight: place = .inFlight
        case .applied, .expired, .superseded, .dead, .unconfirmed, .discarded:
            place = .ended(code.outcome ?? .dead)
        }
        return EntryReading(
            kind: kind, source: source, partitionKey: text(3),
            recordedAt: WallTime(milliseconds: try integer(4)), place: place,
            attempts: try integer(6), failures: try integer(7), reason: text(8))
    }

    /// Why the row of an entry was put aside; nil if it was not.
    package static func damage(of id: EntryID, in db: Database) throws -> String? {
        try String.fetchOne(
            db, sql: "SELECT why FROM quarantine WHERE id = ? LIMIT 1", arguments: [id.text])
    }

    private static func earlier(
        than seq: Int64, of partitionKey: String?, in db: Database
    ) throws -> Int64 {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT COUNT(*) FROM entry
                WHERE lane = ? AND lane IS NOT NULL AND state < 10 AND seq < ?
                """, arguments: [partitionKey, seq]) ?? 0
    }

    private static func damaged(_ id: EntryID) -> RepriseError {
        RepriseError(
            .corrupt, "The journal's row of \(id) cannot be read.",
            remedy: "Open the journal once with its app: it puts the row aside.")
    }
}
