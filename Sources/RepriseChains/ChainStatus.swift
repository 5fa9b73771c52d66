import Foundation
package import GRDB
public import RepriseCore

/// A chain as its rows in the journal have it.
public struct ChainStatus: Hashable, Sendable, Codable {
    /// What `start` returned.
    public var id: ChainID
    /// The definition's name.
    public var definition: String
    /// The definition's version.
    public var version: Int
    /// The name that it was started under, of one open chain at a time; nil: none.
    public var name: String?
    /// Its state; ``reason`` explains `parked`, `failed` and `cancelled`.
    public var state: ChainState
    /// Why it is suspended, failed or cancelled.
    public var reason: String?
    /// When it was started.
    public var startedAt: WallTime
    /// When it ended.
    public var endedAt: WallTime?
    /// Tasks that are done.
    public var done: Int
    /// All tasks.
    public var total: Int
    /// The tasks in order; none in a list of chains.
    public var tasks: [ChainTaskStatus]
    /// Its log, oldest first; empty in a list of chains.
    public var log: [String]
}

/// A task of a chain as its row has it.
public struct ChainTaskStatus: Hashable, Sendable, Codable {
    /// Its name, unique in its chain.
    public var name: String
    /// Its worker; nil: it waits, or decides on the steps after it.
    public var worker: String?
    /// Its step; the first is 0.
    public var step: Int
    /// Its state; while it waits, ``hold`` says for what.
    public var state: TaskState
    /// The state of its compensation.
    public var compensation: CompensationState
    /// What it waits for: `paused`, `parked`, `conditions`, `disk`, `readiness:NAME`, `entry:KIND`.
    public var hold: String?
    /// Attempts that have ended.
    public var attempts: Int
    /// How often it failed.
    public var failures: Int
    /// When the attempt began that ended it.
    public var startedAt: WallTime?
    /// When it ended.
    public var endedAt: WallTime?
    /// Its reported progress, 0 to 1.
    public var progress: Double?
    /// The newest text that its worker reported with its progress.
    public var note: String?
    /// Why it failed last.
    public var error: String?

    private enum CodingKeys: String, CodingKey {
        case name
        case worker
        case step
        case state
        case compensation = "undo"
        case hold
        case attempts
        case failures
        case startedAt
        case endedAt
        case progress
        case note
        case error
    }
}

extension ChainStatus {
    private static let columns = """
        c.id, c.definition, c.version, c.name, c.state, c.reason, c.startedAt, c.endedAt, c.tasks,
        (SELECT COUNT(*) FROM chainTask AS t WHERE t.chain = c.seq AND t.state = 10), c.seq
        """

    private init?(_ row: Row) {
        guard let id = String.fromDatabaseValue(row[0]),
            let definition = String.fromDatabaseValue(row[1]),
            let version = Int.fromDatabaseValue(row[2]),
            let started = Int64.fromDatabaseValue(row[6])
        else { return nil }
        self.id = ChainID(id)
        (self.definition, self.version) = (definition, version)
        name = String.fromDatabaseValue(row[3])
        state = Int.fromDatabaseValue(row[4]).flatMap(ChainState.init(rawValue:)) ?? .quarantined
        reason = String.fromDatabaseValue(row[5])
        startedAt = WallTime(milliseconds: started)
        endedAt = Int64.fromDatabaseValue(row[7]).map { WallTime(milliseconds: $0) }
        total = Int.fromDatabaseValue(row[8]) ?? 0
        done = Int.fromDatabaseValue(row[9]) ?? 0
        (tasks, log) = ([], [])
    }

    /// Reads one with its tasks.
    package static func read(_ id: String, _ db: Database) throws -> ChainStatus? {
        let row = try Row.fetchOne(
            db, sql: "SELECT \(columns) FROM chain AS c WHERE c.id = ?", arguments: [id])
        guard let row, var status = ChainStatus(row) else { return nil }
        let seq = Int64.fromDatabaseValue(row[10])
        status.tasks = try Row.fetchAll(
            db, sql: "SELECT * FROM chainTask WHERE chain = ? ORDER BY place", arguments: [seq]
        ).map(ChainTaskStatus.init)
        status.log = try String.fetchAll(
            db, sql: "SELECT line FROM chainLog WHERE chain = ? ORDER BY seq", arguments: [seq])
        return status
    }

    /// Reads a page, the newest first.
    package static func list(
        _ filter: ChainFilter = ChainFilter(), before: String?, limit: Int, at now: WallTime,
        _ db: Database
    ) throws -> [ChainStatus] {
        let (condition, arguments) = filter.condition(at: now)
        return try Row.fetchAll(
            db,
            sql: """
                SELECT \(columns) FROM chain AS c WHERE \(condition)
                AND c.seq < COALESCE((SELECT seq FROM chain WHERE id = ?), 9223372036854775807)
                ORDER BY c.seq DESC LIMIT ?
                """, arguments: arguments + [before, min(max(limit, 0), ChainsLimits.page)]
        ).compactMap(ChainStatus.init)
    }
}

extension ChainTaskStatus {
    fileprivate init(_ row: Row) {
        func wall(_ column: String) -> WallTime? {
            Int64.fromDatabaseValue(row[column]).map { WallTime(milliseconds: $0) }
        }
        name = String.fromDatabaseValue(row["name"]) ?? "?"
        worker = String.fromDatabaseValue(row["worker"])
        step = Int.fromDatabaseValue(row["step"]) ?? 0
        state = Int.fromDatabaseValue(row["state"]).flatMap(TaskState.init(rawValue:)) ?? .failed
        compensation =
            Int.fromDatabaseValue(row["undo"]).flatMap(CompensationState.init(rawValue:)) ?? .none
        hold = String.fromDatabaseValue(row["hold"])
        attempts = Int.fromDatabaseValue(row["attempts"]) ?? 0
        failures = Int.fromDatabaseValue(row["failures"]) ?? 0
        startedAt = wall("startedAt")
        endedAt = wall("endedAt")
        progress = Double.fromDatabaseValue(row["progress"])
        note = String.fromDatabaseValue(row["note"])
        error = String.fromDatabaseValue(row["error"])
    }
}
