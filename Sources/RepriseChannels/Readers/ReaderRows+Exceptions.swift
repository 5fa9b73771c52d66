package import GRDB
package import RepriseCore
import RepriseJournal
import RepriseWire

/// Exceptional messages.
extension ReaderRows {
    /// Stores the results of messages, and the reader's position; `now` is the calendar of this
    /// transaction.
    package func write(
        _ write: ReaderWrite, of reader: Int64, now: WallTime, _ db: Database
    ) throws {
        for acknowledgement in write.acknowledgements {
            try settle(acknowledgement, of: reader, now: now, db)
        }
        try move(reader, cursor: write.cursor, dispatching: write.dispatching, db)
    }

    /// Stores the disposition of a delivered message, or removes it if it is finished.
    ///
    /// `now` is the calendar of this transaction: one read before a jump would prolong the wait by
    /// the jump.
    package func settle(
        _ acknowledgement: ReaderWrite.Acknowledgement, of reader: Int64, now: WallTime,
        _ db: Database
    ) throws {
        guard let ending = acknowledgement.ending else {
            try db.cachedStatement(
                sql: "DELETE FROM channelsException WHERE reader = ? AND arrival = ?"
            ).execute(arguments: [reader, acknowledgement.arrival])
            return
        }
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO channelsException
                (reader, arrival, attempts, failures, state, due, reason)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            reader, acknowledgement.arrival, acknowledgement.attempts, acknowledgement.failures,
            ending.state.rawValue, now.advanced(by: ending.wait).milliseconds,
            String(ending.reason.prefix(256)),
        ])
    }

    /// Marks a message as being with its handler.
    package func markDispatched(_ arrival: Int64, of reader: Int64, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                UPDATE channelsException SET state = 1, attempts = attempts + 1
                WHERE reader = ? AND arrival = ? AND state = 0
                """
        ).execute(arguments: [reader, arrival])
    }

    /// The due messages, oldest first; and when the next one is due.
    package func due(_ reader: Int64, now: WallTime, _ db: Database) throws -> ReaderStore.Due {
        guard order == .arrival else { return try orderedDue(reader, now: now, db) }
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.columns), attempts, failures
                    FROM channelsException AS e JOIN channelsMessage AS m
                    ON m.arrival = e.arrival
                    WHERE reader = ? AND state = 0 AND due <= ? ORDER BY due, m.arrival LIMIT ?
                    """), arguments: [reader, now.milliseconds, ReaderStore.dueLimit])
        let messages = try rows.map(exceptional)
        let next = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT MIN(due) FROM channelsException
                    WHERE reader = ? AND state = 0 AND due > ?
                    """), arguments: [reader, now.milliseconds])
        return ReaderStore.Due(messages: messages, next: next.map(WallTime.init(milliseconds:)))
    }

    func exceptional(_ row: Row) throws -> ReaderStore.Exceptional {
        let attempts = Int(clamping: try row.integer(Self.further))
        return ReaderStore.Exceptional(
            arrived: try arrived(row, attempt: attempts &+ 1), attempts: attempts,
            failures: Int(clamping: try row.integer(Self.further + 1)))
    }

    package func failures(limit: Int, _ db: Database) throws -> [FailedMessage] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT \(Self.columns), attempts, e.state, e.reason
                FROM channelsException AS e
                JOIN channelsReader AS r ON r.id = e.reader
                JOIN channelsMessage AS m ON m.arrival = e.arrival
                WHERE r.channel = ? AND r.name = ? ORDER BY e.arrival LIMIT ?
                """, arguments: [channel.text, name, min(max(limit, 0), 1_000)])
        return try rows.map { row in
            let status: FailedMessage.Status =
                switch ReaderStore.State(rawValue: try row.integer(Self.further + 1)) {
                case .dead: .dead
                case .unconfirmed: .unconfirmed
                case .waiting, .dispatched, nil: .waiting
                }
            let arrived = try arrived(row, attempt: Int(clamping: try row.integer(Self.further)))
            return FailedMessage(
                message: arrived.message, status: status, reason: try row.text(Self.further + 2)
            )
        }
    }

    /// Changes the status of a message that is not with its handler.
    package func restate(
        _ id: EntryID, as state: ReaderStore.State, now: WallTime, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                UPDATE channelsException SET state = ?, failures = 0, due = ?
                WHERE state != 1
                AND reader = (SELECT id FROM channelsReader WHERE channel = ? AND name = ?)
                AND arrival IN (SELECT e.arrival FROM channelsException AS e
                    JOIN channelsMessage AS m ON m.arrival = e.arrival WHERE m.id = ?)
                """,
            arguments: [state.rawValue, now.milliseconds, channel.text, name, id.text])
        guard db.changesCount > 0 else {
            throw RepriseError(
                .noSuchEntry, "The reader \(name) has not failed at the message \(id).")
        }
    }

    package func forget(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM channelsException WHERE reader IN
                (SELECT id FROM channelsReader WHERE channel = ? AND name = ?)
                """, arguments: [channel.text, name])
        try db.execute(
            sql: "DELETE FROM channelsReader WHERE channel = ? AND name = ?",
            arguments: [channel.text, name])
    }
}
