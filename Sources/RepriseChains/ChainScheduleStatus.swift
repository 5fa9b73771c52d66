package import GRDB
public import RepriseCore

/// What became of ``Chains/schedule(_:input:name:runs:constraints:deadline:)``.
public enum ChainScheduleChange: Hashable, Sendable {
    /// There was none of this name.
    case added
    /// It was there as it is.
    case kept
    /// It was there, and is changed.
    case updated
}

/// When a periodic chain runs next, and what became of its last run.
public struct ChainScheduleStatus: Hashable, Sendable, Codable {
    /// Its name, which its runs have, too.
    public var name: String
    /// The name of the definition of its runs.
    public var definition: String
    /// When it runs; nil: this version of the app cannot read that.
    public var schedule: ChainSchedule?
    /// When the next run is due; nil: it is suspended, or has no time left.
    public var next: WallTime?
    /// Why it is suspended; nil: it is not.
    public var reason: String?
    /// The last run, also after it was removed.
    public var lastRun: ChainID?
    /// When the last run was started.
    public var lastStartedAt: WallTime?
    /// The state of the last run.
    public var lastState: ChainState?
    /// Times that were skipped, because a run was under way.
    public var skipped: Int
}

extension ChainScheduleStatus {
    private init(_ row: Row) {
        func wall(_ column: Int) -> WallTime? {
            Int64.fromDatabaseValue(row[column]).map { WallTime(milliseconds: $0) }
        }
        name = String.fromDatabaseValue(row[0]) ?? "?"
        definition = String.fromDatabaseValue(row[1]) ?? "?"
        schedule = String.fromDatabaseValue(row[2]).flatMap(ScheduleRow.readRule)
        next = wall(3)
        reason = String.fromDatabaseValue(row[4])
        lastRun = String.fromDatabaseValue(row[5]).map { ChainID($0) }
        lastStartedAt = wall(6)
        lastState = Int.fromDatabaseValue(row[7]).flatMap(ChainState.init(rawValue:))
        skipped = Int.fromDatabaseValue(row[8]) ?? 0
    }

    /// All of them, by name.
    package static func list(_ db: Database) throws -> [ChainScheduleStatus] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT s.name, s.definition, s.rule, CASE WHEN s.entry IS NOT NULL THEN s.next END,
                s.reason, s.run, s.runAt, COALESCE(c.state, s.runState), s.skipped
                FROM chainSchedule AS s LEFT JOIN chain AS c ON c.id = s.run ORDER BY s.name
                """
        ).map(ChainScheduleStatus.init)
    }
}
