import Foundation
import GRDB
import RepriseCore
import RepriseJournal

/// Moves chains that were started before sign-in into the account, with their results.
///
/// Tasks keep their keys; intents and waits are written again. A chain is durable in the account's
/// journal as a whole, and known there by its id: a kill in between does not duplicate it.
enum ChainAdoption {
    /// One chain on its way.
    private struct Moving: Sendable {
        let seq: Int64
        let id: String
        let chain: [String: DatabaseValue]
        let tasks: [[String: DatabaseValue]]
        let log: [[String: DatabaseValue]]
        let files: [StoredOutput]
        /// The first open chain of its name there.
        let first: String?
    }

    static func adopt(from source: Journal, into target: Journal) async throws {
        var last: Int64 = 0
        while let moving = try await source.read({ [last] in try read(after: last, $0) }) {
            last = moving.seq
            try copyFiles(of: moving, from: source, into: target)
            try await target.write { db in try write(moving, target, db) }
        }
        try await adoptSchedules(from: source, into: target)
    }

    /// The commands that wait for their times move with the entries, by the same ids.
    private static func adoptSchedules(from source: Journal, into target: Journal) async throws {
        var count = 0
        while let row = try await source.read({ [count] in try schedule(count, $0) }) {
            count += 1
            let name = row["name"].flatMap(String.fromDatabaseValue) ?? ""
            try await target.write { db in
                // The account's own of this name stays.
                guard try ScheduleRow.read(name, db) == nil else { return }
                try insert(row, into: "chainSchedule", db)
            }
        }
    }

    private static func schedule(
        _ number: Int, _ db: Database
    ) throws -> [String: DatabaseValue]? {
        try Row.fetchOne(
            db, sql: "SELECT * FROM chainSchedule ORDER BY name LIMIT 1 OFFSET ?",
            arguments: [number]
        )?.columns
    }

    private static func read(after last: Int64, _ db: Database) throws -> Moving? {
        let chain = try Row.fetchOne(
            db, sql: "SELECT * FROM chain WHERE seq > ? ORDER BY seq LIMIT 1", arguments: [last])
        guard let chain, let seq = Int64.fromDatabaseValue(chain["seq"]) else { return nil }
        // Attempts of the intent that is left behind count on.
        let tasks = try Row.fetchAll(
            db,
            sql: """
                SELECT *, COALESCE((SELECT attempt FROM entry WHERE id = chainTask.entry), 0)
                AS tried FROM chainTask WHERE chain = ? ORDER BY place
                """, arguments: [seq])
        let log = try Row.fetchAll(
            db, sql: "SELECT place, at, line FROM chainLog WHERE chain = ? ORDER BY seq",
            arguments: [seq])
        return Moving(
            seq: seq, id: String.fromDatabaseValue(chain["id"]) ?? "", chain: chain.columns,
            tasks: tasks.map(\.columns), log: log.map(\.columns),
            files: tasks.compactMap { try? StoredOutput($0) }.filter { $0.file != nil },
            first: try first(named: chain["name"], db))
    }

    /// Before the rows that name them; a missing or changed file quarantines the chain when it is
    /// read.
    private static func copyFiles(
        of moving: Moving, from source: Journal, into target: Journal
    ) throws {
        let (from, to) = (OutputFiles(source.location), OutputFiles(target.location))
        for output in moving.files {
            guard let bytes = try? from.read(output) else { continue }
            try to.keep(bytes, as: output)
        }
    }

    private static func write(_ moving: Moving, _ target: Journal, _ db: Database) throws {
        guard try ChainReading.seq(of: moving.id, db) == nil else { return }
        var chain = moving.chain
        chain["seq"] = try DatabaseValue.fetchOne(db, sql: "SELECT \(ChainTables.nextNumber)")
        let state = ChainState(rawValue: moving.chain["state"].flatMap(Int.fromDatabaseValue) ?? 13)
        let isOpen = state?.isEnd == false
        // Those of its name that have moved with it come before it, as there.
        if isOpen, let holder = try first(named: chain["name"] ?? .null, db),
            holder != moving.first
        {
            // The account's open chain of this name keeps it.
            chain["name"] = .null
            if state == .queued { try begin(moving, target, db) }
        }
        try insert(chain, into: "chain", db)
        let seq = db.lastInsertedRowID
        for row in moving.tasks { try insert(task(row, of: seq), into: "chainTask", db) }
        for row in moving.log {
            var line = row
            line["chain"] = seq.databaseValue
            try insert(line, into: "chainLog", db)
        }
        guard isOpen else { return }
        try ChainWriting.log(seq, nil, "Came along with the sign-in.", at: target.now, db)
        try target.record(
            owed: NewEntry(
                kind: Chains.commandKind, source: "chains",
                payload: ChainCommand(.look, chain: moving.id).bytes), in: db)
    }

    private static func first(named name: DatabaseValue, _ db: Database) throws -> String? {
        try String.fetchOne(
            db,
            sql: """
                SELECT id FROM chain
                WHERE name = ? AND name IS NOT NULL AND state < 10 ORDER BY seq LIMIT 1
                """, arguments: [name])
    }

    /// It waits for none of its name any more, but still for its delay.
    private static func begin(_ moving: Moving, _ target: Journal, _ db: Database) throws {
        let due = moving.chain["due"].flatMap(Int64.fromDatabaseValue)
        try target.record(
            owed: NewEntry(
                id: EntryID("\(moving.id)/begin"), kind: Chains.commandKind, source: "chains",
                payload: ChainCommand(.begin, chain: moving.id).bytes,
                delay: due.map { target.now.duration(to: WallTime(milliseconds: $0)) }), in: db)
    }

    private static func task(
        _ row: [String: DatabaseValue], of chain: Int64
    ) -> [String: DatabaseValue] {
        var task = row
        let tried = task.removeValue(forKey: "tried").flatMap(Int.fromDatabaseValue) ?? 0
        let isCompensation =
            row["undo"].flatMap(Int.fromDatabaseValue) == CompensationState.intended.rawValue
        let column = isCompensation ? "undoAttempts" : "attempts"
        let attempts = row[column].flatMap(Int.fromDatabaseValue) ?? 0
        task["chain"] = chain.databaseValue
        // A damaged number is out of bounds there, too.
        let (sum, isOverflow) = attempts.addingReportingOverflow(tried)
        task[column] = (isOverflow ? attempts : sum).databaseValue
        (task["entry"], task["hold"], task["after"]) = (.null, .null, .null)
        let open = [TaskState.intended.rawValue, TaskState.held.rawValue].map(\.databaseValue)
        if let state = row["state"], open.contains(state) {
            task["state"] = TaskState.blocked.rawValue.databaseValue
        }
        if let compensation = row["undo"], open.contains(compensation) {
            task["undo"] = CompensationState.none.rawValue.databaseValue
        }
        return task
    }

    private static func insert(
        _ columns: [String: DatabaseValue], into table: String, _ db: Database
    ) throws {
        let names = columns.keys.sorted()
        let marks = names.map { _ in "?" }.joined(separator: ", ")
        try db.execute(
            sql: "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(marks))",
            arguments: StatementArguments(names.map { columns[$0] ?? .null }))
    }
}

extension Row {
    fileprivate var columns: [String: DatabaseValue] {
        Dictionary(map { ($0.0, $0.1) }, uniquingKeysWith: { $1 })
    }
}
