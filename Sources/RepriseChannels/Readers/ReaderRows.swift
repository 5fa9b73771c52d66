package import GRDB
package import RepriseCore
import RepriseJournal
package import RepriseWire

/// The rows of one reader, in the caller's transaction.
package struct ReaderRows: Sendable {
    package let channel: ChannelName
    package let name: String
    /// The order in which it reads, and which its cursor counts.
    package let order: ReaderOptions.Order

    package init(
        channel: ChannelName, name: String, order: ReaderOptions.Order = .arrival
    ) {
        self.channel = channel
        self.name = name
        self.order = order
    }

    // MARK: Beginning

    /// Resumes at the reader's position, or makes one at the beginning of the journal.
    ///
    /// A message that a dead process may have had in a handler becomes exceptional: delivered again
    /// with a second attempt, or unconfirmed. So the doubt is stored for each message, and lasts
    /// exactly as long as it must.
    package func begin(_ options: ReaderOptions, now: WallTime, _ db: Database) throws
        -> ReaderStore.Position
    {
        try db.execute(
            sql: "INSERT OR IGNORE INTO channelsReader (channel, name, ordered) VALUES (?, ?, ?)",
            arguments: [channel.text, name, order == .ordered])
        guard
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT id, cursor, handing, ordered FROM channelsReader
                    WHERE channel = ? AND name = ?
                    """, arguments: [channel.text, name])
        else { throw RepriseError(.internal, "A reader's row is missing.") }
        guard (try row.integer(3) != 0) == (order == .ordered) else {
            throw RepriseError(
                .badConfiguration, "The reader \(name) of \(channel) was begun in another order.",
                remedy: "Give it another name, or forget it first; then it begins anew.")
        }
        let reader = try row.integer(0)
        let cursor = try row.integer(1)
        let dispatching = try row.integer(2)
        try interruptExceptions(of: reader, options, now: now, db)
        guard dispatching > cursor else { return .init(reader: reader, cursor: cursor) }
        try interruptWindow((cursor, dispatching), of: reader, options, now: now, db)
        try move(reader, cursor: dispatching, dispatching: dispatching, db)
        return .init(reader: reader, cursor: dispatching)
    }

    private func interruptWindow(
        _ window: (cursor: Int64, dispatching: Int64), of reader: Int64, _ options: ReaderOptions,
        now: WallTime, _ db: Database
    ) throws {
        let inDoubt =
            switch order {
            case .arrival: arrivals(in: window)
            case .ordered: try sequences(in: window, db)
            }
        try db.execute(
            sql: """
                INSERT INTO channelsException
                (reader, arrival, attempts, failures, state, due, reason)
                SELECT ?, arrival, 1, 1, ?, ?, ? FROM channelsMessage WHERE \(inDoubt.condition)
                """,
            arguments: [
                reader, stateAfterInterruption(options, failures: 1).rawValue, now.milliseconds,
                ReaderStore.interruption,
            ] + inDoubt.arguments)
    }

    /// A window never spans two logs.
    private func arrivals(in window: (cursor: Int64, dispatching: Int64))
        -> (condition: String, arguments: StatementArguments)
    {
        let base = ChannelsTables.base(of: ChannelsTables.log(of: window.dispatching))
        return ("arrival > ? AND arrival <= ?", [max(window.cursor, base), window.dispatching])
    }

    private func interruptExceptions(
        of reader: Int64, _ options: ReaderOptions, now: WallTime, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                UPDATE channelsException SET failures = failures + 1, due = ?, reason = ?,
                state = CASE WHEN failures + 1 >= ? THEN ? ELSE ? END
                WHERE reader = ? AND state = 1
                """,
            arguments: [
                now.milliseconds, ReaderStore.interruption, options.attemptLimit,
                stateAfterInterruption(options, failures: options.attemptLimit).rawValue,
                stateAfterInterruption(options, failures: 0).rawValue, reader,
            ])
    }

    private func stateAfterInterruption(_ options: ReaderOptions, failures: Int)
        -> ReaderStore.State
    {
        switch options.onInterruption {
        case .never: .unconfirmed
        case .again: failures >= options.attemptLimit ? .dead : .waiting
        }
    }

    // MARK: Pages

    /// The next messages after `cursor`, of one log: bounded in number and bytes.
    package func page(after cursor: Int64, _ db: Database) throws -> [Arrived] {
        guard order == .arrival else { return try orderedPage(after: cursor, db) }
        let logs = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT id FROM channelsLog WHERE channel = ? AND id >= ? ORDER BY id"),
            arguments: [channel.text, ChannelsTables.log(of: cursor)])
        for row in logs {
            let base = ChannelsTables.base(of: try row.integer(0))
            let page = try messages(
                after: max(cursor, base), below: base + (1 << ChannelsTables.arrivalBits), db)
            guard page.isEmpty else { return page }
        }
        return []
    }

    private func messages(after: Int64, below end: Int64, _ db: Database) throws -> [Arrived] {
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.columns) FROM channelsMessage AS m
                    WHERE arrival > ? AND arrival < ? ORDER BY arrival LIMIT ?
                    """), arguments: [after, end, ReaderStore.pageLimit])
        return try page(rows)
    }

    func page(_ rows: RowCursor) throws -> [Arrived] {
        var page: [Arrived] = []
        var bytes = 0
        while bytes < ReaderStore.pageBytes, let row = try rows.next() {
            let arrived = try arrived(row, attempt: 1)
            bytes += arrived.message.body.count
            page.append(arrived)
        }
        return page
    }

    /// The columns of ``arrived(_:attempt:)``; others follow from ``further`` on.
    private static let columns =
        "m.arrival, m.seq, m.id, m.time, m.body, m.sender, m.change, m.target, m.deleted"
    private static let further = 9

    private func arrived(_ row: Row, attempt: Int) throws -> Arrived {
        let arrival = try row.integer(0)
        do {
            return Arrived(
                arrival: arrival,
                message: Message(
                    channel: channel, seq: try row.integer(1), id: try EntryID(try row.text(2)),
                    time: WallTime(milliseconds: try row.integer(3)),
                    from: try row.optionalText(5).map { try UserID($0) },
                    change: try row.change(6, target: 7), isDeleted: try row.integer(8) != 0,
                    body: try row.bytes(4), attempt: attempt))
        } catch let error as RepriseError {
            let remains = Message(
                channel: channel, seq: (try? row.integer(1)) ?? 0,
                id: EntryID(unchecked: "damaged-\(arrival)"), time: WallTime(milliseconds: 0),
                body: Array("null".utf8), attempt: attempt)
            return Arrived(arrival: arrival, message: remains, damage: error)
        }
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` if the reader was forgotten.
    package func move(_ reader: Int64, cursor: Int64, dispatching: Int64, _ db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE channelsReader SET cursor = ?, handing = ? WHERE id = ?"
        ).execute(arguments: [cursor, dispatching, reader])
        guard db.changesCount == 1 else {
            throw RepriseError(.noSuchEntry, "The reader \(name) was forgotten.")
        }
    }

    /// The position of the newest message of the channel; 0 without any.
    package func newest(_ db: Database) throws -> Int64 {
        guard order == .arrival else { return try newestOrdered(db) }
        let logs = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT id FROM channelsLog WHERE channel = ? ORDER BY id DESC"),
            arguments: [channel.text])
        for row in logs {
            let base = ChannelsTables.base(of: try row.integer(0))
            let newest = try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT arrival FROM channelsMessage WHERE arrival > ? AND arrival < ?
                        ORDER BY arrival DESC LIMIT 1
                        """), arguments: [base, base + (1 << ChannelsTables.arrivalBits)])
            if let newest { return newest }
        }
        return 0
    }
}

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

    private func exceptional(_ row: Row) throws -> ReaderStore.Exceptional {
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

/// A reader that takes a channel's messages by sequence.
extension ReaderRows {
    /// The next messages after `cursor`, of one log, and none beyond a hole.
    ///
    /// In a former epoch nothing can fill a hole any more.
    private func orderedPage(after cursor: Int64, _ db: Database) throws -> [Arrived] {
        let logs = try logs(db)
        for (rank, log) in logs.enumerated().dropFirst(OrderedPosition.rank(of: cursor)) {
            let end = rank + 1 < logs.count ? .max : try watermark(of: log, db)
            let rows = try Row.fetchCursor(
                db.cachedStatement(
                    sql: """
                        SELECT \(Self.columns) FROM channelsMessage AS m
                        WHERE log = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?
                        """),
                arguments: [
                    log, OrderedPosition.seq(of: cursor, inRank: rank), end, ReaderStore.pageLimit,
                ])
            var page = try page(rows)
            for place in page.indices {
                page[place].position = OrderedPosition.position(
                    rank: rank, seq: page[place].message.seq)
            }
            guard page.isEmpty else { return page }
        }
        return []
    }

    /// The messages that were with a handler when its process died.
    private func sequences(in window: (cursor: Int64, dispatching: Int64), _ db: Database) throws
        -> (condition: String, arguments: StatementArguments)
    {
        let rank = OrderedPosition.rank(of: window.dispatching)
        let logs = try logs(db)
        guard logs.indices.contains(rank) else { return ("0", []) }
        return (
            "log = ? AND seq > ? AND seq <= ?",
            [
                logs[rank], OrderedPosition.seq(of: window.cursor, inRank: rank),
                OrderedPosition.seq(of: window.dispatching),
            ]
        )
    }

    /// The failed message at which the reader stands: nothing after it is delivered before.
    private func orderedDue(
        _ reader: Int64, now: WallTime, _ db: Database
    ) throws -> ReaderStore.Due {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.columns), attempts, failures, due
                    FROM channelsException AS e JOIN channelsMessage AS m
                    ON m.arrival = e.arrival
                    WHERE reader = ? AND state = 0 ORDER BY m.log, m.seq LIMIT 1
                    """), arguments: [reader])
        guard let row else { return ReaderStore.Due(messages: [], next: nil) }
        let due = WallTime(milliseconds: try row.integer(Self.further + 2))
        return ReaderStore.Due(messages: due <= now ? [try exceptional(row)] : [], next: due)
    }

    private func newestOrdered(_ db: Database) throws -> Int64 {
        for (rank, log) in try logs(db).enumerated().reversed() {
            let newest = try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT seq FROM channelsMessage WHERE log = ? ORDER BY seq DESC LIMIT 1
                        """), arguments: [log])
            if let newest { return OrderedPosition.position(rank: rank, seq: newest) }
        }
        return 0
    }

    /// The logs of the channel, oldest first, as many as an ordered reader can count.
    private func logs(_ db: Database) throws -> [Int64] {
        try Int64.fetchAll(
            db.cachedStatement(
                sql: "SELECT id FROM channelsLog WHERE channel = ? ORDER BY id LIMIT ?"),
            arguments: [channel.text, OrderedPosition.epochs])
    }

    private func watermark(of log: Int64, _ db: Database) throws -> Int64 {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT coverage FROM channelsLog WHERE id = ?"),
            arguments: [log])
        return row.map { $0.watermark(0) } ?? 0
    }
}
