package import Foundation
import GRDB
package import RepriseCore
package import RepriseJournal

/// Reads the chains of a journal that another process may own, without disturbing it.
///
/// ```swift
/// let viewer = ChainViewer(at: folder, schemas: AccountClient.featureSchemas)
/// for chain in try viewer.list(limit: 20).chains { print(chain.id, chain.state) }
/// ```
package struct ChainViewer: Sendable {
    /// How much of an input or an output is read for people.
    package static let shownBytes = 2_048
    /// More than a row can hold; SQLite's substr() does not bear the largest number.
    private static let wholeBytes = 1 << 30
    /// The chains of a list, at most.
    package static let listLimit = 10_000

    private let folder: URL
    private let schemas: [JournalSchema]

    /// Names a journal, without opening it.
    package init(at folder: URL, schemas: [JournalSchema]) {
        self.folder = folder
        self.schemas = schemas
    }

    /// The newest chains, newest first.
    ///
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - filter: which.
    ///   - before: the last one of the page before.
    ///   - now: the moment from which an age counts.
    /// - Returns: them, and how many chains are in each state.
    /// - Throws: as `Journal.peek`.
    package func list(
        limit: Int, _ filter: ChainFilter = ChainFilter(), before: ChainRecord? = nil,
        at now: WallTime = SystemTimekeeper().wall()
    ) throws -> ChainOverview {
        let overview = try Journal.peek(at: folder, schemas: schemas) { db in
            var overview = ChainOverview()
            let (condition, arguments) = filter.condition(at: now)
            let rows = try Row.fetchAll(
                db,
                sql: Self.chains + " WHERE \(condition) AND seq < ? ORDER BY seq DESC LIMIT ?",
                arguments: [Self.shownBytes] + arguments + [
                    before?.seq ?? .max, max(0, min(limit, Self.listLimit)),
                ])
            overview.chains = rows.map(Self.chain)
            overview.counts = try Self.counts(db)
            return overview
        }
        return overview ?? ChainOverview()
    }

    /// The schedules, by name.
    ///
    /// - Throws: as `Journal.peek`.
    package func schedules() throws -> [ChainScheduleStatus] {
        try Journal.peek(at: folder, schemas: schemas) { try ChainScheduleStatus.list($0) } ?? []
    }

    /// The only chain whose id begins with this.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.noSuchEntry` for none or several; as
    ///   `Journal.peek`.
    package func find(_ id: String) throws -> ChainRecord {
        try look(at: id, cut: Self.shownBytes) { chain, _ in chain }
    }

    /// A chain with its tasks and its log, long values cut.
    ///
    /// - Throws: as ``find(_:)``.
    package func show(_ id: String) throws -> (
        chain: ChainRecord, tasks: [ChainTaskRecord], log: [ChainLogRecord]
    ) {
        try look(at: id, cut: Self.shownBytes) { chain, db in
            var tasks: [ChainTaskRecord] = []
            try Self.eachTask(of: chain, cut: Self.shownBytes, db) { tasks.append($0) }
            return (chain, tasks, try Self.log(of: chain, db))
        }
    }

    /// A chain with everything, in one transaction, a task at a time: nothing is cut, and files are
    /// read.
    ///
    /// - Throws: as ``find(_:)``, and what the closures throw.
    package func export(
        _ id: String, chain: (ChainRecord, [ChainLogRecord]) throws -> Void,
        task: (ChainTaskRecord) throws -> Void
    ) throws {
        try look(at: id, cut: Self.wholeBytes) { record, db in
            try chain(record, try Self.log(of: record, db))
            try Self.eachTask(of: record, cut: Self.wholeBytes, db) { row in
                var row = row
                fill(&row.output)
                try task(row)
            }
        }
    }

    /// Leaves a command for the process that owns the journal, which does it when it runs.
    ///
    /// - Throws: as `Spool.record`.
    package func leave(_ verb: ChainCommand.Verb, for chain: ChainRecord) throws {
        try leave(ChainCommand(verb, chain: chain.id))
    }

    /// Leaves it to the owner to remove all chains that ended so long ago.
    ///
    /// - Returns: how many have by now, in each state.
    /// - Throws: as `Journal.peek` and `Spool.record`.
    package func leaveClearing(
        olderThan seconds: Int, at now: WallTime = SystemTimekeeper().wall()
    ) throws -> [(state: ChainState?, count: Int64)] {
        let filter = ChainFilter(olderThan: .seconds(seconds))
        let counts = try Journal.peek(at: folder, schemas: schemas) { db in
            let (condition, arguments) = filter.condition(at: now)
            return try Self.counts(db, "state >= 10 AND \(condition)", arguments)
        }
        try leave(ChainCommand(.clear, chain: "", seconds: Int64(seconds)))
        return counts ?? []
    }

    /// How many chains of a condition are in each state.
    private static func counts(
        _ db: Database, _ condition: String = "1", _ arguments: StatementArguments = []
    ) throws -> [(state: ChainState?, count: Int64)] {
        try Row.fetchAll(
            db,
            sql: "SELECT state, COUNT(*) FROM chain WHERE \(condition) GROUP BY 1 ORDER BY 1",
            arguments: arguments
        ).map { (state($0[0]), Int64.fromDatabaseValue($0[1]) ?? 0) }
    }

    /// Leaves it to the owner to remove a schedule.
    ///
    /// - Throws: as `Spool.record`.
    package func leaveUnscheduling(_ name: String) throws {
        try leave(ChainCommand(.unschedule, chain: "", task: name))
    }

    private func leave(_ command: ChainCommand) throws {
        try Spool(at: folder).record(
            NewEntry(
                id: .random(), kind: Chains.commandKind, source: "tool", payload: command.bytes))
    }

    // MARK: Reading

    private func look<T>(
        at id: String, cut: Int, _ body: (ChainRecord, Database) throws -> T
    ) throws -> T {
        let found = try Journal.peek(at: folder, schemas: schemas) { db -> T? in
            let rows = try Row.fetchAll(
                db, sql: Self.chains + " WHERE id = ?", arguments: [cut, id])
            if let row = rows.first { return try body(Self.chain(row), db) }
            let near = try Row.fetchAll(
                db, sql: Self.chains + " WHERE substr(id, 1, ?) = ? LIMIT 2",
                arguments: [cut, id.unicodeScalars.count, id])
            guard near.count < 2 else {
                throw RepriseError(
                    .noSuchEntry, "Several chains have ids that begin with \(id).",
                    remedy: "Give more of it.")
            }
            return try near.first.map { try body(Self.chain($0), db) }
        }
        guard let found = found ?? nil else {
            throw RepriseError(
                .noSuchEntry, "No chain has the id \(id.prefix(64)).",
                remedy: "List them with `reprise chains --journal DIR`.")
        }
        return found
    }

    private static let chains = """
        SELECT seq, id, definition, version, hash, name, state, reason,
            substr(input, 1, ?) AS input, length(input) AS inputBytes, tasks, needs, needsBytes,
            startedAt, due, deadline, endedAt, leaves,
            (SELECT COUNT(*) FROM chainTask WHERE chain = chain.seq AND state = 10) AS done,
            (SELECT hold FROM chainTask
                WHERE chain = chain.seq AND hold IS NOT NULL ORDER BY place LIMIT 1) AS hold
        FROM chain
        """

    private static func chain(_ row: Row) -> ChainRecord {
        ChainRecord(
            seq: integer(row, "seq"), id: text(row, "id") ?? "",
            definition: text(row, "definition") ?? "",
            version: integer(row, "version"), hash: text(row, "hash") ?? "",
            name: text(row, "name"),
            state: state(row["state"]), reason: text(row, "reason"), input: content(row, "input"),
            taskCount: integer(row, "tasks"), doneCount: integer(row, "done"),
            hold: text(row, "hold"), needs: integer(row, "needs"),
            needsBytes: integer(row, "needsBytes"), startedAt: time(row, "startedAt"),
            due: time(row, "due"), deadline: time(row, "deadline"), endedAt: time(row, "endedAt"),
            leaves: time(row, "leaves"))
    }

    private static func eachTask(
        of chain: ChainRecord, cut: Int, _ db: Database, _ body: (ChainTaskRecord) throws -> Void
    ) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT place, step, name, worker, t.state AS state, undo, hold,
                    t.attempts AS attempts, t.failures AS failures, startedAt, endedAt, deadline,
                    substr(input, 1, :cut) AS input, length(input) AS inputBytes,
                    substr(undoInput, 1, :cut) AS undoInput, length(undoInput) AS undoInputBytes,
                    substr(output, 1, :cut) AS output,
                    COALESCE(outputBytes, length(output)) AS outputBytes, outputFile, outputHash,
                    checkpoint, length(checkpoint) AS checkpointBytes, progress, note, error,
                    e.state AS entryState, e.due AS entryDue,
                    CASE WHEN t.state = 1 THEN e.attempt END AS entryAttempt,
                    e.reason AS entryReason
                FROM chainTask t LEFT JOIN entry e ON e.id = t.entry
                WHERE chain = :chain ORDER BY place
                """, arguments: ["cut": cut, "chain": chain.seq])
        while let row = try rows.next() { try body(task(row)) }
    }

    private static func task(_ row: Row) -> ChainTaskRecord {
        // As StateCode of the journal has them.
        let entry = Int.fromDatabaseValue(row["entryState"])
        let (delayed, inFlight) = (2, 3)
        var output = content(row, "output")
        output.file = text(row, "outputFile")
        output.hash = Data.fromDatabaseValue(row["outputHash"]).map(Array.init)
        return ChainTaskRecord(
            place: integer(row, "place"), step: integer(row, "step"), name: text(row, "name") ?? "",
            worker: text(row, "worker"),
            state: Int.fromDatabaseValue(row["state"]).flatMap(TaskState.init(rawValue:)),
            compensation: Int.fromDatabaseValue(row["undo"]).flatMap(
                CompensationState.init(rawValue:)),
            hold: text(row, "hold"),
            attempts: attempts(row),
            failures: integer(row, "failures"), isInFlight: entry == inFlight,
            nextAttempt: entry == delayed ? time(row, "entryDue") : nil,
            startedAt: time(row, "startedAt"), endedAt: time(row, "endedAt"),
            deadline: time(row, "deadline"), input: content(row, "input"),
            compensationInput: content(row, "undoInput"), output: output,
            checkpoint: content(row, "checkpoint"),
            progress: Double.fromDatabaseValue(row["progress"]), note: text(row, "note"),
            error: text(row, "error") ?? text(row, "entryReason"))
    }

    private static func log(of chain: ChainRecord, _ db: Database) throws -> [ChainLogRecord] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT at, line,
                    (SELECT name FROM chainTask t WHERE t.chain = l.chain AND t.place = l.place)
                        AS task
                FROM chainLog l WHERE chain = ? ORDER BY seq
                """, arguments: [chain.seq])
        return rows.map {
            ChainLogRecord(at: time($0, "at"), task: text($0, "task"), line: text($0, "line") ?? "")
        }
    }

    /// Reads the content of a file, or records why it cannot.
    private func fill(_ content: inout StoredContent) {
        guard let name = content.file else { return }
        do {
            content.bytes = try OutputFiles(folder).read(
                StoredOutput(
                    file: name, count: Int(clamping: content.count),
                    hash: Data(content.hash ?? [])))
        } catch {
            content.fault = "\(error)"
        }
    }

    // MARK: Columns, whatever is in them

    /// With those of the intent under way; a damaged number as it is.
    private static func attempts(_ row: Row) -> Int64 {
        let earlier = integer(row, "attempts")
        let (sum, isOverflow) = earlier.addingReportingOverflow(integer(row, "entryAttempt"))
        return isOverflow ? earlier : sum
    }

    private static func integer(_ row: Row, _ column: String) -> Int64 {
        Int64.fromDatabaseValue(row[column]) ?? 0
    }

    private static func text(_ row: Row, _ column: String) -> String? {
        String.fromDatabaseValue(row[column])
    }

    private static func time(_ row: Row, _ column: String) -> WallTime? {
        Int64.fromDatabaseValue(row[column]).map { WallTime(milliseconds: $0) }
    }

    private static func state(_ value: DatabaseValue) -> ChainState? {
        Int.fromDatabaseValue(value).flatMap(ChainState.init(rawValue:))
    }

    private static func content(_ row: Row, _ column: String) -> StoredContent {
        var content = StoredContent()
        content.bytes = Data.fromDatabaseValue(row[column]).map(Array.init)
        content.count = integer(row, column + "Bytes")
        return content
    }
}
