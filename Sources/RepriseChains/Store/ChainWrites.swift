import Foundation
package import GRDB
package import RepriseCore
import RepriseJournal

/// The writes for one chain, in one transaction with the end of the entry that caused them.
package struct ChainWrites: Sendable {
    /// An entry for a task.
    package struct Intent: Sendable {
        package var place: Int
        package var isCompensation = false
        package var round: Int
        /// Nil: it has one already.
        package var input: [UInt8]?
        /// How long the task may take, all in all.
        ///
        /// It counts from the commit of its first intent on: the calendar may be set between a
        /// decision and its commit.
        package var deadline: Duration?
        /// The newest of a task's attempts and failures are kept through all its intents.
        package var isFirst: Bool
    }

    package enum Change: Sendable {
        case ended(
            TaskState, output: StoredOutput?, attempts: Int, started: WallTime?, error: String?)
        case compensated(CompensationState, error: String?)
        case held(String, isCompensation: Bool, attempts: Int, deadline: Duration?)
        case failure(count: Int, error: String, isCompensation: Bool)
        case reset
        /// A task that decides is done, with its decision as JSON.
        case decided([UInt8])
        /// New tasks come in between; the place is of no meaning.
        case expanded(Expansion)
    }

    /// The tasks of a decision.
    package struct Expansion: Sendable {
        package var hash: String
        /// Of the tasks that are moved or added.
        package var round: Int
        package var count: Int
        package var moved: [(from: Int, to: Int, step: Int)] = []
        package var added: [(place: Int, name: String, worker: String?, step: Int)] = []
    }

    package let chain: Int64
    package let id: String
    package var name: String?
    package var state: ChainState?
    /// Its end is to be shown as a notification.
    package var notifies = false
    package var reason: String?
    package var changes: [(place: Int, Change)] = []
    package var intents: [Intent] = []
    /// Entries that are of no use any more.
    package var withdrawn: [String] = []
    /// Commands to ourselves, with the time from now on; those without an id are never withdrawn.
    package var commands: [(ChainCommand, id: String?, delay: Duration?)] = []
    package var log: [(place: Int?, line: String)] = []
    /// The rows of another version's definition, made anew.
    package var rebuilt: Rebuilt?

    package struct Rebuilt: Sendable {
        package var version: Int
        package var hash: String
        package var round: Int
        package var tasks: [(name: String, worker: String?, step: Int)]
    }

    package init(chain: Int64, id: String, name: String?) {
        (self.chain, self.id, self.name) = (chain, id, name)
    }

    package static func entryID(_ id: String, place: Int, round: Int) -> String {
        "\(id)/\(place)/\(round)"
    }

    // MARK: Writing

    /// - Returns: false: the chain has left meanwhile, and nothing is written.
    @discardableResult
    package func perform(
        in db: Database, _ journal: some ChainEntries, retention: Duration
    ) throws -> Bool {
        let isThere = try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM chain WHERE seq = ?)"),
            arguments: [chain])
        guard isThere == true else { return false }
        let now = journal.now
        if let rebuilt { try rebuild(rebuilt, db) }
        for (place, change) in changes { try write(change, place, now, db) }
        for id in withdrawn {
            guard let id = try? EntryID(id) else { continue }
            _ = try journal.end(id, as: .superseded, reason: "withdrawn", in: db)
        }
        for intent in intents { try write(intent, now, db, journal) }
        if let state { try write(state, now, retention, db, journal) }
        for (command, id, delay) in commands {
            guard let id = try? id.map({ try EntryID($0) }) ?? EntryID.random() else { continue }
            try journal.record(
                owed: NewEntry(
                    id: id, kind: Chains.commandKind, source: "chains", payload: command.bytes,
                    delay: delay), in: db)
        }
        for (place, line) in log {
            try ChainWriting.log(chain, place, line, at: now, db)
        }
        return true
    }

    private func write(
        _ state: ChainState, _ now: WallTime, _ retention: Duration, _ db: Database,
        _ journal: some ChainEntries
    ) throws {
        try db.cachedStatement(
            sql: """
                UPDATE chain SET state = ?, endedAt = ?, leaves = ?, tells = ?,
                reason = CASE WHEN ? THEN NULL ELSE COALESCE(?, reason) END
                WHERE seq = ?
                """
        ).execute(arguments: [
            state.rawValue,
            state.isEnd ? now.milliseconds : nil,
            state.isEnd ? now.advanced(by: retention).milliseconds : nil,
            notifies && state.isEnd,
            // The reason of an earlier delay does not apply any more.
            state == .succeeded, reason?.limited(to: ChainsLimits.errorBytes), chain,
        ])
        guard state.isEnd else { return }
        for command in ["late", "begin"] {
            guard let entry = try? EntryID("\(id)/\(command)") else { continue }
            _ = try journal.end(entry, as: .superseded, reason: "withdrawn", in: db)
        }
        if let name { try ChainWriting.beginNext(of: name, db, journal) }
    }

    private func write(
        _ intent: Intent, _ now: WallTime, _ db: Database, _ journal: some ChainEntries
    ) throws {
        let id = Self.entryID(self.id, place: intent.place, round: intent.round)
        let column = intent.isCompensation ? "undo" : "state"
        let given = intent.isCompensation ? "undoInput" : "input"
        try db.cachedStatement(
            sql: """
                UPDATE chainTask SET \(column) = 1, entry = ?, round = ?, hold = NULL,
                \(given) = COALESCE(?, \(given)), intendedAt = CASE WHEN ? THEN ? ELSE intendedAt END,
                deadline = CASE WHEN ? THEN ? ELSE deadline END WHERE chain = ? AND place = ?
                """
        ).execute(arguments: [
            id, intent.round, intent.input.map { Data($0) }, intent.isFirst, now.milliseconds,
            intent.isFirst, intent.deadline.map { now.advanced(by: $0).milliseconds }, chain,
            intent.place,
        ])
        let payload = IntentPayload(
            chain: chain, place: intent.place, isCompensation: intent.isCompensation,
            round: intent.round)
        // Not refused where the journal is full: it follows from an entry that was accepted, and
        // this must not fail.
        try journal.record(
            owed: NewEntry(
                id: EntryID(id), kind: Chains.kind, source: "chains", payload: payload.bytes),
            in: db)
    }

    private func write(_ change: Change, _ place: Int, _ now: WallTime, _ db: Database) throws {
        switch change {
        case .ended(let state, let output, let attempts, let started, let error):
            try db.cachedStatement(
                sql: """
                    UPDATE chainTask SET state = ?, entry = NULL, hold = NULL, attempts = ?,
                    startedAt = ?, endedAt = ?, output = ?, outputFile = ?, outputBytes = ?,
                    outputHash = ?, error = COALESCE(?, error), checkpoint = NULL
                    WHERE chain = ? AND place = ?
                    """
            ).execute(arguments: [
                state.rawValue, attempts, started?.milliseconds, now.milliseconds,
                output?.bytes.map { Data($0) }, output?.file, output?.count, output?.hash,
                error?.limited(to: ChainsLimits.errorBytes), chain, place,
            ])
        case .compensated(let state, let error):
            try db.cachedStatement(
                sql: """
                    UPDATE chainTask SET undo = ?, entry = NULL, hold = NULL, checkpoint = NULL,
                    error = COALESCE(?, error) WHERE chain = ? AND place = ?
                    """
            ).execute(arguments: [
                state.rawValue, error?.limited(to: ChainsLimits.errorBytes), chain, place,
            ])
        case .held(let hold, let isCompensation, let attempts, let deadline):
            let isEntry = hold.hasPrefix("entry:")
            try db.cachedStatement(
                sql: """
                    UPDATE chainTask SET \(isCompensation ? "undo" : "state") = 2, entry = NULL, hold = ?,
                    \(isCompensation ? "undoAttempts" : "attempts") = ?,
                    intendedAt = COALESCE(intendedAt, ?),
                    deadline = COALESCE(deadline, ?),
                    after = CASE WHEN ? THEN COALESCE((SELECT MAX(seq) FROM entry), 0) END
                    WHERE chain = ? AND place = ?
                    """
            ).execute(arguments: [
                hold, attempts, now.milliseconds,
                deadline.map { now.advanced(by: $0).milliseconds }, isEntry, chain, place,
            ])
        case .failure(let count, let error, _):
            try db.cachedStatement(
                sql: """
                    UPDATE chainTask SET failures = ?, error = NULLIF(?, '')
                    WHERE chain = ? AND place = ?
                    """
            ).execute(arguments: [count, error.limited(to: ChainsLimits.errorBytes), chain, place])
        case .reset:
            try db.cachedStatement(
                sql: """
                    UPDATE chainTask SET state = 0, takenBack = takenBack + (undo = 10), undo = 0,
                    undoAttempts = 0, entry = NULL, hold = NULL, failures = 0, round = round + 1, input = NULL,
                    undoInput = NULL, output = NULL, outputFile = NULL, outputBytes = NULL, outputHash = NULL, checkpoint = NULL, error = NULL,
                    intendedAt = NULL, deadline = NULL WHERE chain = ? AND place = ?
                    """
            ).execute(arguments: [chain, place])
        case .decided(let json):
            try db.cachedStatement(
                sql: """
                    UPDATE chainTask SET state = 10, input = ?, hold = NULL,
                    intendedAt = COALESCE(intendedAt, ?), startedAt = ?, endedAt = ?
                    WHERE chain = ? AND place = ?
                    """
            ).execute(arguments: [
                Data(json), now.milliseconds, now.milliseconds, now.milliseconds, chain, place,
            ])
        case .expanded(let expansion): try expand(expansion, db)
        }
    }

    private func expand(_ expansion: Expansion, _ db: Database) throws {
        // Out of the way first: a place is taken by one at a time.
        let away = try db.cachedStatement(
            sql: "UPDATE chainTask SET place = -1 - place WHERE chain = ? AND place = ?")
        for move in expansion.moved { try away.execute(arguments: [chain, move.from]) }
        let back = try db.cachedStatement(
            sql: """
                UPDATE chainTask SET place = ?, step = ?, round = ? WHERE chain = ? AND place = ?
                """)
        for move in expansion.moved {
            try back.execute(
                arguments: [move.to, move.step, expansion.round, chain, -1 - move.from])
        }
        for task in expansion.added {
            try ChainWriting.insert(
                task.name, worker: task.worker, step: task.step, place: task.place, chain: chain,
                round: expansion.round, db)
        }
        try db.cachedStatement(sql: "UPDATE chain SET hash = ?, tasks = ? WHERE seq = ?").execute(
            arguments: [expansion.hash, expansion.count, chain])
    }

    /// A compatible definition matches tasks by their names: finished tasks stay finished.
    private func rebuild(_ new: Rebuilt, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE chainTask SET place = -1 - place WHERE chain = ?", arguments: [chain])
        for (place, task) in new.tasks.enumerated() {
            try db.execute(
                sql: """
                    UPDATE chainTask SET place = ?, step = ?, worker = ?
                    WHERE chain = ? AND name = ? AND place < 0
                    """, arguments: [place, task.step, task.worker, chain, task.name])
            guard db.changesCount == 0 else { continue }
            try ChainWriting.insert(
                task.name, worker: task.worker, step: task.step, place: place, chain: chain, db)
        }
        try db.execute(
            sql: "DELETE FROM chainTask WHERE chain = ? AND place < 0", arguments: [chain])
        try db.execute(
            sql: """
                UPDATE chainTask SET round = ?, entry = NULL, undo = CASE WHEN undo < 10 THEN 0 ELSE undo END,
                state = CASE WHEN state = 1 OR state = 2 AND worker IS NOT NULL THEN 0 ELSE state END
                WHERE chain = ?
                """, arguments: [new.round, chain])
        try db.execute(
            sql: "UPDATE chain SET version = ?, hash = ?, tasks = ? WHERE seq = ?",
            arguments: [new.version, new.hash, new.tasks.count, chain])
    }
}

/// Writing that belongs to no decision.
enum ChainWriting {
    static func insert(
        _ name: String, worker: String?, step: Int, place: Int, chain: Int64, round: Int = 0,
        _ db: Database
    ) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO chainTask (chain, place, step, name, worker, state, round)
                VALUES (?, ?, ?, ?, ?, 0, ?)
                """
        ).execute(arguments: [chain, place, step, name, worker, round])
    }

    static func log(_ chain: Int64, _ place: Int?, _ line: String, at now: WallTime, _ db: Database)
        throws
    {
        try db.cachedStatement(
            sql: "INSERT INTO chainLog (chain, place, at, line) VALUES (?, ?, ?, ?)"
        ).execute(arguments: [
            chain, place, now.milliseconds, line.limited(to: ChainsLimits.logBytes),
        ])
        try db.cachedStatement(
            sql: """
                DELETE FROM chainLog WHERE chain = ? AND seq <= (SELECT seq FROM chainLog
                WHERE chain = ? ORDER BY seq DESC LIMIT 1 OFFSET \(ChainsLimits.logLines))
                """
        ).execute(arguments: [chain, chain])
    }

    /// The next chain of a name may begin.
    static func beginNext(of name: String, _ db: Database, _ journal: some ChainEntries) throws {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT id, state, due FROM chain
                    WHERE name = ? AND name IS NOT NULL AND state < 10 ORDER BY seq LIMIT 1
                    """), arguments: [name])
        guard let row, Int.fromDatabaseValue(row[1]) == ChainState.queued.rawValue,
            let id = String.fromDatabaseValue(row[0])
        else { return }
        let due = Int64.fromDatabaseValue(row[2]).map { WallTime(milliseconds: $0) }
        try journal.record(
            owed: NewEntry(
                // Never the entry of an earlier beginning, which may have come too early.
                kind: Chains.commandKind, source: "chains",
                payload: ChainCommand(.begin, chain: id).bytes,
                delay: due.map { journal.now.duration(to: $0) }), in: db)
    }
}
