/// Statements that change values of a column as a disk does that rots, and no statement: to a type
/// that no column has.
///
/// Run each by a connection of its own, which reads the schema once.
///
/// - Parameters:
///   - column: its name and type, as the table declares them.
///   - table: a STRICT one.
///   - condition: of the rows.
package func rottenValues(
    _ column: String, of table: String, where condition: String
) -> [String] {
    let name = column.prefix { $0 != " " }
    func alter(_ from: String, _ to: String) -> String {
        """
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, '\(from)', '\(to)') WHERE name = '\(table)';
        """
    }
    return [
        alter(column, "\(name) ANY"), "UPDATE \(table) SET \(name) = x'ff' WHERE \(condition)",
        alter("\(name) ANY", column),
    ]
}
