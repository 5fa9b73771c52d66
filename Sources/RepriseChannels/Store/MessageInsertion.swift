import GRDB
import GRDBSQLite
import RepriseCore
import RepriseWire

/// Inserts messages with one prepared statement, bound without copies, and applies their changes to
/// others.
///
/// The only code that calls SQLite directly: binding through GRDB's values costs more than the
/// insertion itself (Benchmarks), and catch-up consists of this.
struct MessageInsertion {
    private static let blank = Array("null".utf8)

    private let statement: Statement
    private let db: Database
    private let log: Int64
    private var blanking: Blanking

    init(into log: Int64, _ db: Database) throws {
        self.db = db
        self.log = log
        blanking = try Blanking(in: log, db)
        statement = try db.cachedStatement(
            sql: """
                INSERT INTO channelsMessage
                (arrival, log, seq, prev, id, time, body, sender, change, target, deleted, mentions)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
    }

    mutating func insert(_ event: ServerFrame.Event, arrival: Int64) throws {
        let isDeleted = try isDeleted(event)
        try store(event, arrival: arrival, isDeleted: isDeleted)
        try applyChange(of: event)
        if isDeleted { try blanking.blank(event.seq) }  // its edits may have come before
    }

    /// An event arrived under a sequence of this log whose message is in a former one, at `arrival`
    /// if it is still stored.
    mutating func recognise(_ event: ServerFrame.Event, arrival: Int64?) throws {
        if let arrival {
            try db.cachedStatement(
                sql: "INSERT OR REPLACE INTO channelsAlias (log, seq, arrival) VALUES (?, ?, ?)"
            ).execute(arguments: [log, event.seq, arrival])
        }
        try note(event, arrival: arrival)
        try applyChange(of: event)
        if try isDeleted(event) { try blanking.blank(event.seq) }
    }

    /// Its target may arrive later, and must find the change: the event itself is no row of this
    /// log.
    private func note(_ event: ServerFrame.Event, arrival: Int64?) throws {
        let change: (kind: Int64, target: Int64, arrival: Int64?)
        switch event.change {
        case .edits(let target):
            guard let arrival else { return }  // its body has left the journal
            change = (1, target, arrival)
        case .deletes(let target): change = (2, target, nil)
        case nil: return
        }
        try db.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO channelsFormerChange (log, change, target, seq, arrival)
                VALUES (?, ?, ?, ?, ?)
                """
        ).execute(arguments: [log, change.kind, change.target, event.seq, change.arrival])
    }

    private func isDeleted(_ event: ServerFrame.Event) throws -> Bool {
        if try event.isDeleted || blanking.hasDeletion(of: event.seq) { return true }
        guard case .edits(let target) = event.change else { return false }
        return try blanking.isDeleted(target)
    }

    private mutating func applyChange(of event: ServerFrame.Event) throws {
        guard case .deletes(let target) = event.change else { return }
        try blanking.deletionStored(of: target)
    }

    private func store(_ event: ServerFrame.Event, arrival: Int64, isDeleted: Bool) throws {
        let row = statement.sqliteStatement
        sqlite3_bind_int64(row, 1, arrival)
        sqlite3_bind_int64(row, 2, log)
        sqlite3_bind_int64(row, 3, event.seq)
        if event.prev != event.seq - 1 { sqlite3_bind_int64(row, 4, event.prev) }
        sqlite3_bind_int64(row, 6, event.time.milliseconds)
        // Null where there is none, as the bindings were cleared.
        if let (kind, target) = Self.change(event) {
            sqlite3_bind_int64(row, 9, kind)
            sqlite3_bind_int64(row, 10, target)
        }
        sqlite3_bind_int64(row, 11, isDeleted ? 1 : 0)
        let body = isDeleted ? Self.blank : event.body
        let isMention = event.change == nil && !isDeleted
        let mentions =
            isMention ? Mentions(in: body).users.map(\.text).joined(separator: " ") : ""
        let code = step(row, event.id.text, body, event.from?.text ?? "", mentions)
        guard code == SQLITE_DONE else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
        }
    }

    private static func change(_ event: ServerFrame.Event) -> (kind: Int64, target: Int64)? {
        switch event.change {
        case .edits(let target): (1, target)
        case .deletes(let target): (2, target)
        case nil: nil
        }
    }

    /// Binds the texts, and runs the statement.
    private func step(
        _ row: SQLiteStatement, _ id: String, _ body: [UInt8], _ sender: String, _ mentions: String
    ) -> CInt {
        var (id, sender, mentions) = (id, sender, mentions)
        // The bytes are read within the closures only (SQLITE_STATIC): the statement is reset
        // before they are freed.
        return id.withUTF8 { id in
            body.withUnsafeBytes { body in
                sender.withUTF8 { sender in
                    sqlite3_bind_text(row, 5, id.baseAddress, Int32(id.count), nil)
                    sqlite3_bind_blob(row, 7, body.baseAddress, Int32(body.count), nil)
                    if !sender.isEmpty {
                        sqlite3_bind_text(row, 8, sender.baseAddress, Int32(sender.count), nil)
                    }
                    return mentions.withUTF8 { mentions in
                        if !mentions.isEmpty {
                            sqlite3_bind_text(
                                row, 12, mentions.baseAddress, Int32(mentions.count), nil)
                        }
                        let code = sqlite3_step(row)
                        sqlite3_reset(row)
                        sqlite3_clear_bindings(row)
                        return code
                    }
                }
            }
        }
    }
}
