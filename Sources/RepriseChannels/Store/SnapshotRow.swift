import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// The snapshot of a log that the app has not finished loading, as stored in the journal.
enum SnapshotRow {
    static func write(
        _ change: StagedBatch.Segment.SnapshotChange, of log: Int64, _ db: Database
    ) throws {
        switch change {
        case .taken:
            try db.execute(
                sql: "DELETE FROM channelsSnapshot WHERE log = ?", arguments: [log])
        case .wanted(let snapshot):
            var lost = Coverage()
            for range in snapshot.lost { lost.insert(range) }
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO channelsSnapshot (log, position, lost, reason)
                    VALUES (?, ?, ?, ?)
                    """,
                arguments: [log, snapshot.position, lost.description, snapshot.reason.rawValue])
        }
    }

    static func read(of log: Int64, _ db: Database) throws -> SubscriptionMachine.Snapshot? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT position, lost, reason FROM channelsSnapshot WHERE log = ?"),
            arguments: [log])
        guard let row else { return nil }
        return .init(
            position: try row.integer(0), lost: try Coverage(parsing: try row.text(1)).ranges,
            reason: Gone.Reason(rawValue: try row.text(2)) ?? .retention)
    }
}
