import GRDB
package import RepriseCore
package import RepriseWire

/// The log without threads of its own: each call completes before it returns.
///
/// A seam for simulations, which drive the shipping transactions in sequence: see
/// docs/architecture/testing.md.
package struct SteppedLog: Sendable {
    private let database: LogDatabase

    init(_ database: LogDatabase) { self.database = database }

    /// `append(_:)`, with the messages' time.
    ///
    /// `check` inspects the results before the commit; an error of it rolls back.
    package func append(
        _ batch: [NewMessage], now: WallTime,
        check: ([AppendResult]) throws -> Void = { _ in }
    ) throws -> [AppendResult] {
        try database.commit { memory, db in
            let results = try memory.append(batch, now: now, db)
            try check(results)
            return results
        }
    }

    /// `state(of:)`.
    package func state(of channel: ChannelName) throws -> LogChannelState {
        try database.readNow { try database.reading.stateOrNothing(of: channel, $0) }
    }

    /// `page(of:missing:limit:byteLimit:)`.
    package func page(
        of channel: ChannelName, missing: [SequenceRange], limit: Int, byteLimit: Int
    ) throws -> LogPage {
        try database.readNow {
            try database.reading.page(
                of: channel, missing: missing, limit: limit, byteLimit: byteLimit, $0)
        }
    }

    /// `trim(_:now:)`.
    package func trim(_ policy: RetentionPolicy, now: WallTime) throws {
        var last: Int64? = policy.keepsAll ? nil : 0
        if last != nil { try gather() }
        while let key = last {
            let kept = try database.readNow { try LogTrimming.kept(behind: key, $0) }
            for channel in try database.readNow({ try LogTrimming.due(kept, policy, [:], now, $0) })
            {
                while try database.commit({
                    try LogTrimming.step(channel.name, through: channel.through, &$0, $1)
                }) {}
            }
            last = kept.last?.key
        }
        while let run = try database.readNow({ try database.forgettableRun(at: now, $0) }) {
            while try database.commit({ memory, db in try memory.forget(run, db) }) {}
        }
    }

    /// Whether `trim(_:now:)` would change anything.
    package func trims(_ policy: RetentionPolicy, now: WallTime) throws -> Bool {
        if !policy.keepsAll {
            try gather()
            let due = try database.readNow { db in
                try LogTrimming.due(try LogTrimming.kept(behind: 0, db), policy, [:], now, db)
            }
            if !due.isEmpty { return true }
        }
        return try database.readNow { try database.forgettableRun(at: now, $0) != nil }
    }

    private func gather() throws {
        var last: Int64?
        repeat {
            last = try database.commit { try LogTrimming.gather(through: last, &$0, $1) }
        } while last != nil
    }

    /// Every relevant row, in order, as text: equal for two logs that stored the same.
    package func dump() throws -> [String] {
        try database.readNow { db in
            try (Self.content + [Self.mentions]).flatMap { sql in
                try Row.fetchAll(db, sql: sql).map { row in
                    row.databaseValues.map { value in
                        String.fromDatabaseValue(value)
                            ?? Int64.fromDatabaseValue(value).map { "\($0)" } ?? "null"
                    }.joined(separator: " ")
                }
            }
        }
    }

    /// Selects what a log holds, however its tables are filled.
    static let content = [
        "SELECT 'log', epoch FROM log",
        """
        SELECT 'channel', key, name, head, floor, count, bytes, time
        FROM heads ORDER BY key
        """,
        """
        SELECT 'message', channel, seq, coalesce(prev, seq - 1), id, time, sender,
        change, target, deleted, hex(body) FROM all_messages ORDER BY channel, seq
        """,
        """
        SELECT 'recent', id, channel, seq FROM
        (SELECT * FROM recent_ids UNION ALL SELECT * FROM recent_ids2) ORDER BY n
        """,
        "SELECT 'run', run, newest FROM id_runs ORDER BY run",
        "SELECT 'id', run, id, channel, seq FROM ids ORDER BY run, id",
        "SELECT 'awaited', channel, seq FROM awaited ORDER BY channel, seq",
    ]

    /// A view's content has it among the tables that a former version lacks.
    private static let mentions =
        "SELECT 'mention', channel, user, seq FROM mentions ORDER BY channel, user, seq"

    /// `close()`.
    package func close() { database.close() }
}
