import GRDB
import GRDBSQLite
import RepriseCore
import RepriseWire

/// Inserts messages with one prepared statement, bound without copies.
///
/// The one place that speaks to SQLite directly: binding through GRDB's values costs more than the insertion itself
/// (Benchmarks), and catch-up is made of this.
struct MessageInsertion {
    private let statement: Statement
    private let db: Database

    init(_ db: Database) throws {
        self.db = db
        statement = try db.cachedStatement(
            sql: """
                INSERT INTO channelsMessage (arrival, log, seq, prev, id, time, body)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """)
    }

    func insert(_ event: ServerFrame.Event, log: Int64, arrival: Int64) throws {
        let row = statement.sqliteStatement
        sqlite3_bind_int64(row, 1, arrival)
        sqlite3_bind_int64(row, 2, log)
        sqlite3_bind_int64(row, 3, event.seq)
        if event.prev == event.seq - 1 {
            sqlite3_bind_null(row, 4)
        } else {
            sqlite3_bind_int64(row, 4, event.prev)
        }
        sqlite3_bind_int64(row, 6, event.time.milliseconds)
        var id = event.id.text
        // The bytes are read within the closures only (SQLITE_STATIC): the statement is reset before they go.
        let code = id.withUTF8 { id in
            event.body.withUnsafeBytes { body in
                sqlite3_bind_text(row, 5, id.baseAddress, Int32(id.count), nil)
                sqlite3_bind_blob(row, 7, body.baseAddress, Int32(body.count), nil)
                let code = sqlite3_step(row)
                sqlite3_reset(row)
                sqlite3_clear_bindings(row)
                return code
            }
        }
        guard code == SQLITE_DONE else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
        }
    }
}
