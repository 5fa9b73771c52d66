import GRDB

/// Inserts rows into a table, many by a statement: half the time of as many statements.
///
/// `OR FAIL`, because a row that is refused undoes the transaction in any case: so SQLite need not
/// be able to undo one statement.
struct RowInsertion: Sendable {
    /// The rows of one statement, for as many as there are.
    private static let sizes = [32, 8, 1]

    private let statements: [(rows: Int, sql: String)]

    /// `columns` are separated by commas, in the order in which they are bound.
    init(into table: String, _ columns: String) {
        let row = "(\(columns.split(separator: ",").map { _ in "?" }.joined(separator: ", ")))"
        statements = Self.sizes.map { rows in
            let values = Array(repeating: row, count: rows).joined(separator: ", ")
            return (rows, "INSERT OR FAIL INTO \(table) (\(columns)) VALUES \(values)")
        }
    }

    /// Inserts them in order; `bind` binds the columns of one.
    func run<Rows: RandomAccessCollection>(
        _ rows: Rows, _ db: Database,
        _ bind: (inout FastStatement, Rows.Element) throws -> Void
    ) throws {
        var next = rows.startIndex
        for (size, sql) in statements
        where rows.distance(from: next, to: rows.endIndex) >= size {
            var statement = try FastStatement(db, sql)
            while rows.distance(from: next, to: rows.endIndex) >= size {
                for _ in 0..<size {
                    try bind(&statement, rows[next])
                    next = rows.index(after: next)
                }
                try statement.run()
            }
        }
    }
}
