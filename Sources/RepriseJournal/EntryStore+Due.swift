import GRDB
import Logging
import RepriseCore

/// The index of due moments: delays, retries, bounds, retention.
extension EntryStore {
    /// The most rows of each sort that one pass touches.
    private static let page = 500

    /// The result of a pass over due entries.
    struct Due {
        var isMore = false
        /// When to look again, by the uptime clock; nil: nothing is due.
        var soonest: Duration?
    }

    /// Handles entries due by the clocks as they are now, not as they were when the timer was set.
    func lookAtDue(_ db: Database) throws -> Due {
        let mayExpire = mayExpire
        var due = Due()
        if try wake(db) == Self.page { due.isMore = true }
        if mayExpire {
            for kind in kinds.values.sorted(by: { $0.name < $1.name }) {
                if try reachBound(kind, in: db) == Self.page { due.isMore = true }
            }
            if try removeFinished(db) == Self.page { due.isMore = true }
            for schema in schemas where try prune(schema, db) { due.isMore = true }
        }
        if let next = try soonest(mayExpire: mayExpire, db) {
            let wait = max(now.duration(to: next), .zero)
            due.soonest = configuration.timekeeper.uptime() + wait
        }
        return due
    }

    /// Whether the statement that changes due rows would find any: one that returns rows makes a
    /// table for them first, and mostly there are none.
    private func isAnyDue(_ states: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM entry WHERE \(states) AND due <= ?)"),
            arguments: [now.milliseconds]) ?? false
    }

    /// Releases delays and retries that are due.
    private func wake(_ db: Database) throws -> Int {
        guard try isAnyDue("state = 2", db) else { return 0 }
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    UPDATE entry SET state = CASE WHEN lane IS NULL THEN 0 ELSE 1 END, due = NULL
                    WHERE seq IN
                    (SELECT seq FROM entry WHERE state = 2 AND due <= ? ORDER BY due LIMIT ?)
                    RETURNING kind, lane
                    """), arguments: [now.milliseconds, Self.page])
        var partitionKeys: Set<String> = []
        for row in rows {
            if let partitionKey = String.fromDatabaseValue(row[1]) {
                partitionKeys.insert(partitionKey)
            } else if let kind = String.fromDatabaseValue(row[0]) {
                becameReady(kind)
            }
        }
        // An earlier one may have to wait for longer.
        for partitionKey in partitionKeys { try advance(partitionKey, in: db) }
        return rows.count
    }

    /// Applies a kind's rule to entries at their bound.
    ///
    /// An entry whose effect may have taken place is not reported as expired.
    private func reachBound(_ kind: EntryKind, in db: Database) throws -> Int {
        guard let bound = kind.bound else { return 0 }
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT seq, lane, interruptions > 0 FROM entry
                    WHERE kind = ? AND bound IS NOT NULL AND bound <= ? AND state < 3
                    ORDER BY bound LIMIT ?
                    """), arguments: [kind.name, now.milliseconds, Self.page])
        for row in rows {
            let seq = Int64.fromDatabaseValue(row[0]) ?? 0
            switch bound.then {
            case .expire:
                let isUnknown = Bool.fromDatabaseValue(row[2]) ?? false
                try end(
                    seq, partitionKey: String.fromDatabaseValue(row[1]),
                    as: isUnknown ? .unconfirmed : .expired,
                    reason: "Its time was up before its gate opened.", in: db)
            case .deliver:
                try db.cachedStatement(
                    sql: "UPDATE entry SET released = 1, bound = NULL WHERE seq = ?"
                ).execute(arguments: [seq])
                becameReady(kind.name)
            }
        }
        return rows.count
    }

    /// Removes entries that have been finished for longer than the retention; the ledger still
    /// counts them.
    private func removeFinished(_ db: Database) throws -> Int {
        var rows: [Row] = []
        if try isAnyDue("state >= 10", db) {
            rows = try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        DELETE FROM entry WHERE seq IN
                        (SELECT seq FROM entry WHERE state >= 10 AND due <= ? ORDER BY due LIMIT ?)
                        RETURNING state
                        """), arguments: [now.milliseconds, Self.page])
        }
        var counts: [Outcome: Int] = [:]
        for row in rows {
            let code = Int.fromDatabaseValue(row[0]).flatMap(StateCode.init(rawValue:))
            if let outcome = code?.outcome { counts[outcome, default: 0] += 1 }
        }
        try db.cachedStatement(sql: "DELETE FROM quarantine WHERE due <= ?")
            .execute(arguments: [now.milliseconds])
        counts[.dead, default: 0] += db.changesCount
        for (outcome, count) in counts where count > 0 {
            try db.cachedStatement(
                sql: """
                    INSERT INTO retired VALUES (?, ?)
                    ON CONFLICT (outcome) DO UPDATE SET count = count + excluded.count
                    """
            ).execute(arguments: [outcome.rawValue, count])
        }
        return rows.count
    }

    /// Removes a feature's data past its retention.
    ///
    /// A row of it that has rotted keeps no entry from its handler: nothing is removed then.
    ///
    /// - Returns: whether more is left.
    private func prune(_ schema: JournalSchema, _ db: Database) throws -> Bool {
        func perform(_ sql: String) throws { try db.cachedStatement(sql: sql).execute() }
        try perform("SAVEPOINT prune")
        do {
            let isMore = try schema.prune(db, now)
            try perform("RELEASE SAVEPOINT prune")
            return isMore
        } catch  where db.isInsideTransaction && JournalFailure.isOfARow(error) {
            try perform("ROLLBACK TO SAVEPOINT prune")
            try perform("RELEASE SAVEPOINT prune")
            configuration.logger.error(
                "What is past its retention cannot be removed.",
                metadata: ["feature": "\(schema.name)", "error": "\(error)"])
            return false
        }
    }

    /// Retention sets no timer: entries past it leave at the next pass, at most an hour late,
    /// instead of one by one.
    private func soonest(mayExpire: Bool, _ db: Database) throws -> WallTime? {
        var moments = [
            try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT MIN(due) FROM entry WHERE state = 2"))
        ]
        if mayExpire {
            for kind in kinds.values where kind.bound != nil {
                moments.append(
                    try Int64.fetchOne(
                        db.cachedStatement(
                            sql: """
                                SELECT MIN(bound) FROM entry
                                WHERE kind = ? AND bound IS NOT NULL AND state < 3
                                """), arguments: [kind.name]))
            }
        }
        return moments.compactMap { $0 }.min().map { WallTime(milliseconds: $0) }
    }
}
