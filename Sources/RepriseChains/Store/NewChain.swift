import Foundation
package import GRDB
import RepriseCore
import RepriseJournal
import Synchronization

/// A chain that is to be started.
package struct NewChain: Sendable {
    package let id: String
    let definition: String
    let version: Int
    let plan: ChainPlan
    let input: [UInt8]
    let name: String?
    let onConflict: NameConflict
    let constraints: ChainConstraints
    let delay: Duration?
    let deadline: Duration?

    package init(
        id: String, definition: String, version: Int, plan: ChainPlan, input: [UInt8],
        name: String?, onConflict: NameConflict, constraints: ChainConstraints, delay: Duration?,
        deadline: Duration?
    ) {
        (self.id, self.definition, self.version) = (id, definition, version)
        (self.plan, self.input, self.name) = (plan, input, name)
        (self.onConflict, self.constraints) = (onConflict, constraints)
        (self.delay, self.deadline) = (delay, deadline)
    }

    /// Its id, or that of the one which is there; `isOwed`: it follows from what was accepted, so
    /// that the journal's limit does not apply.
    @discardableResult
    package func insert(
        _ db: Database, _ journal: some ChainEntries, isOwed: Bool = false
    ) throws -> String {
        let others = try name.map { try open(named: $0, db) } ?? []
        if let first = others.first, onConflict == .keep { return first }
        if onConflict == .replace {
            for other in others {
                try command(.cancel, other, nil, db, journal, EntryID.random(), isOwed)
            }
        }
        try insertRows(db, at: journal.now)
        if others.isEmpty {
            try command(.begin, id, delay, db, journal, EntryID("\(id)/begin"), isOwed)
        }
        if let deadline {
            try command(.late, id, deadline, db, journal, EntryID("\(id)/late"), isOwed)
        }
        return id
    }

    private func open(named name: String, _ db: Database) throws -> [String] {
        try String.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT id FROM chain WHERE name = ? AND name IS NOT NULL AND state < 10
                    ORDER BY seq
                    """), arguments: [name])
    }

    private func command(
        _ verb: ChainCommand.Verb, _ chain: String, _ delay: Duration?, _ db: Database,
        _ journal: some ChainEntries, _ entry: EntryID, _ isOwed: Bool
    ) throws {
        let new = NewEntry(
            id: entry, kind: Chains.commandKind, source: "chains",
            payload: ChainCommand(verb, chain: chain).bytes, delay: delay)
        if isOwed {
            try journal.record(owed: new, in: db)
        } else {
            try journal.record(new, in: db)
        }
    }

    private func insertRows(_ db: Database, at now: WallTime) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO chain (seq, id, definition, version, hash, name, state, input, tasks,
                needs, needsBytes, startedAt, due, deadline)
                VALUES (\(ChainTables.nextNumber), ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            id, definition, version, plan.hash, name, Data(input), plan.tasks.count,
            constraints.bits, constraints.freeBytes, now.milliseconds,
            delay.map { now.advanced(by: $0).milliseconds },
            deadline.map { now.advanced(by: $0).milliseconds },
        ])
        let seq = db.lastInsertedRowID
        for (place, task) in plan.tasks.enumerated() {
            try ChainWriting.insert(
                task.name, worker: task.worker, step: plan.steps[place], place: place, chain: seq,
                db)
        }
    }
}

/// How many chains may be started before the next count: counting at each start would cost more the
/// more there are.
final class ChainCapacity: Sendable {
    private let left = Mutex(0)

    func take(_ db: Database) throws {
        try left.withLock { left in
            if left == 0 {
                let open = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM chain WHERE state < 10")
                left = ChainsLimits.openChains - (open ?? 0)
            }
            guard left > 0 else {
                left = 0
                throw RepriseError(
                    .full, "\(ChainsLimits.openChains) chains have not ended.",
                    remedy: "Start it again once some of them have.")
            }
            left -= 1
        }
    }
}
