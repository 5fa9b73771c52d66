import Foundation
package import GRDB
import RepriseCore

/// The end of a chain that is not shown yet.
package struct ChainResults: Sendable {
    package static let page = 20

    package let id: String
    package let definition: String
    package let input: [UInt8]
    package let progress: ChainProgress
    private let endedAt: Int64?

    package static func page(_ db: Database) throws -> [ChainResults] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id, definition, input, state, endedAt, tasks, reason,
                    (SELECT COUNT(*) FROM chainTask WHERE chain = seq AND chainTask.state = 10)
                    FROM chain WHERE tells = 1 AND state >= 10 ORDER BY seq LIMIT \(page)
                    """)
        ).map { row in
            let state = Int.fromDatabaseValue(row[3]).flatMap(ChainState.init(rawValue:))
            return ChainResults(
                id: String.fromDatabaseValue(row[0]) ?? "",
                definition: String.fromDatabaseValue(row[1]) ?? "",
                input: Data.fromDatabaseValue(row[2]).map { [UInt8]($0) } ?? [],
                progress: ChainProgress(
                    state: state ?? .quarantined, done: Int.fromDatabaseValue(row[7]) ?? 0,
                    total: Int.fromDatabaseValue(row[5]) ?? 0,
                    reason: String.fromDatabaseValue(row[6])),
                endedAt: Int64.fromDatabaseValue(row[4]))
        }
    }

    /// It was shown, unless a retry has ended anew meanwhile.
    package func shown(_ db: Database) throws {
        try db.cachedStatement(
            sql: "UPDATE chain SET tells = 0 WHERE id = ? AND state >= 10 AND endedAt IS ?"
        ).execute(arguments: [id, endedAt])
    }

    /// The input of a chain that has not ended.
    package static func input(of id: String, _ db: Database) throws -> [UInt8]? {
        try Data.fetchOne(
            db.cachedStatement(sql: "SELECT input FROM chain WHERE id = ? AND state < 10"),
            arguments: [id]
        ).map { [UInt8]($0) }
    }
}
