import GRDB
import GRDBSQLite

/// A cached statement that is bound and read by position, without GRDB's arguments and rows.
///
/// For the two paths that run per message: storing and reading. Everything else uses GRDB.
struct FastStatement {
    private let statement: Statement  // owns the pointer
    private let pointer: SQLiteStatement
    private var index: Int32 = 0

    init(_ db: Database, _ sql: String) throws {
        statement = try db.cachedStatement(sql: sql)
        pointer = statement.sqliteStatement
        reset()
    }

    /// Resets the last execution; the next ``bind(_:)-(Int64)`` binds the first parameter.
    mutating func reset() {
        sqlite3_reset(pointer)
        index = 0
    }

    mutating func bind(_ value: Int64) throws {
        index += 1
        try check(sqlite3_bind_int64(pointer, index, value))
    }

    mutating func bind(_ value: Int64?) throws {
        if let value { try bind(value) } else { try bindNull() }
    }

    mutating func bindNull() throws {
        index += 1
        try check(sqlite3_bind_null(pointer, index))
    }

    mutating func bind(_ text: String) throws {
        index += 1
        var text = text
        let code = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                sqlite3_bind_text(
                    pointer, index, characters.baseAddress, Int32(characters.count), Self.copied)
            }
        }
        try check(code)
    }

    mutating func bind(_ bytes: [UInt8]) throws {
        index += 1
        guard !bytes.isEmpty else { return try check(sqlite3_bind_zeroblob(pointer, index, 0)) }
        try check(
            bytes.withUnsafeBytes {
                sqlite3_bind_blob(pointer, index, $0.baseAddress, Int32($0.count), Self.copied)
            })
    }

    /// Steps to the next row.
    ///
    /// - Returns: false at the end.
    func step() throws -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            defer { sqlite3_reset(pointer) }
            throw failure(code)
        }
    }

    /// Executes a statement without rows and resets it.
    mutating func run() throws {
        _ = try step()
        reset()
    }

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(pointer, column) == SQLITE_NULL }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }

    func text(_ column: Int32) -> String {
        guard let bytes = sqlite3_column_text(pointer, column) else { return "" }
        let count = Int(sqlite3_column_bytes(pointer, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    func byteCount(_ column: Int32) -> Int { Int(sqlite3_column_bytes(pointer, column)) }

    func bytes(_ column: Int32) -> [UInt8] {
        guard let bytes = sqlite3_column_blob(pointer, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: bytes, count: byteCount(column)))
    }

    private func check(_ code: Int32) throws {
        if code != SQLITE_OK { throw failure(code) }
    }

    private func failure(_ code: Int32) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: String(cString: sqlite3_errmsg(sqlite3_db_handle(pointer))))
    }

    /// Makes SQLite copy bound values (SQLITE_TRANSIENT, a macro that Swift cannot import).
    private static var copied: sqlite3_destructor_type {
        unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }
}
