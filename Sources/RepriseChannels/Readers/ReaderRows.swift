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
    static let columns =
        "m.arrival, m.seq, m.id, m.time, m.body, m.sender, m.change, m.target, m.deleted"
    static let further = 9

    func arrived(_ row: Row, attempt: Int) throws -> Arrived {
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
