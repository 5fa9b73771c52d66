import Foundation
package import GRDB
package import RepriseCore

/// A chain as its row has it.
package struct ChainRow: Sendable {
    package let seq: Int64
    package let id: String
    package let definition: String
    package let version: Int
    package let hash: String
    package let name: String?
    package let state: ChainState
    package let input: [UInt8]
    package let constraints: ChainConstraints
    package var deadline: WallTime?

    static let columns =
        "seq, id, definition, version, hash, name, state, input, needs, needsBytes, deadline"

    /// Why rows cannot be read.
    package struct Broken: Error, CustomStringConvertible {
        package let description: String
    }

    /// Validates every column.
    init(_ row: Row) throws {
        func value<T: DatabaseValueConvertible>(_ column: Int) throws -> T {
            let stored: DatabaseValue = row[column]
            guard let value = T.fromDatabaseValue(stored) else {
                throw Broken(description: "column \(column) of the chain cannot be read")
            }
            return value
        }
        seq = try value(0)
        id = try value(1)
        definition = try value(2)
        version = try value(3)
        hash = try value(4)
        name = String.fromDatabaseValue(row[5])
        guard (try? EntryID(id)) != nil, id.utf8.count <= 64 else {
            throw Broken(description: "the chain's id is not one")
        }
        guard let state = ChainState(rawValue: try value(6)) else {
            throw Broken(description: "the chain's state is unknown")
        }
        self.state = state
        input = [UInt8](try value(7) as Data)
        constraints = ChainConstraints(bits: try value(8), freeBytes: try value(9))
        deadline = Int64.fromDatabaseValue(row[10]).map { WallTime(milliseconds: $0) }
    }
}

/// A task's row, without its input and output.
package struct TaskRow: Sendable {
    package let name: String
    package var slot: ChainMachine.Slot
    package var hold: String?
    package var round: Int
    package var attempts: Int
    /// The same of taking its effect back.
    package var compensationAttempts: Int
    /// How often it was compensated and restarted by a retry.
    package var takenBack: Int
    package var failures: Int
    package var intendedAt: WallTime?
    package var deadline: WallTime?
    package var hasInput: Bool
    package var outputBytes: Int
    /// It has no worker, so no effect.
    package var isWait = false
    /// What it has decided, as JSON.
    package var decision: [UInt8]?

    static let columns = """
        place, name, step, state, undo, hold, round, attempts, failures, intendedAt, deadline, \
        input IS NOT NULL, outputBytes, worker IS NULL, undoAttempts, takenBack, \
        CASE WHEN worker IS NULL AND state = 10 THEN input END
        """

    init(name: String, slot: ChainMachine.Slot) {
        self.name = name
        self.slot = slot
        (round, attempts, compensationAttempts, takenBack, failures) = (0, 0, 0, 0, 0)
        (hasInput, outputBytes) = (false, 0)
    }

    init(_ row: Row, place: Int) throws {
        func value<T: DatabaseValueConvertible>(_ column: Int) throws -> T {
            let stored: DatabaseValue = row[column]
            guard let value = T.fromDatabaseValue(stored) else {
                throw ChainRow.Broken(
                    description: "column \(column) of the task \(place) cannot be read")
            }
            return value
        }
        guard try value(0) == place else {
            throw ChainRow.Broken(description: "the task \(place) is missing")
        }
        name = try value(1)
        guard let state = TaskState(rawValue: try value(3)),
            let compensation = CompensationState(rawValue: try value(4))
        else { throw ChainRow.Broken(description: "the state of the task \(place) is unknown") }
        slot = ChainMachine.Slot(step: try value(2), state: state, compensation: compensation)
        hold = String.fromDatabaseValue(row[5])
        round = try value(6)
        attempts = try value(7)
        failures = try value(8)
        compensationAttempts = try value(14)
        takenBack = try value(15)
        let numbers = [round, attempts, failures, compensationAttempts, takenBack]
        guard numbers.allSatisfy({ (0...Int(Int32.max)).contains($0) }) else {
            throw ChainRow.Broken(description: "a number of the task \(place) is out of bounds")
        }
        intendedAt = Int64.fromDatabaseValue(row[9]).map { WallTime(milliseconds: $0) }
        deadline = Int64.fromDatabaseValue(row[10]).map { WallTime(milliseconds: $0) }
        hasInput = try value(11)
        outputBytes = Int.fromDatabaseValue(row[12]) ?? 0
        isWait = try value(13)
        decision = Data.fromDatabaseValue(row[16]).map { [UInt8]($0) }
    }
}

extension Sequence where Element == TaskRow {
    /// What was decided, by the name of the task.
    package var decisions: [String: [UInt8]] {
        Dictionary(
            compactMap { row in row.decision.map { (row.name, $0) } },
            uniquingKeysWith: { first, _ in first })
    }
}

/// A task's output, and where it is stored.
package struct StoredOutput: Sendable {
    package var bytes: [UInt8]?
    package var file: String?
    package var count: Int
    var hash: Data?

    package init(_ bytes: [UInt8]) {
        (self.bytes, count) = (bytes, bytes.count)
    }

    init(file: String, count: Int, hash: Data) {
        (self.file, self.count, self.hash) = (file, count, hash)
    }

    init(_ row: Row) throws {
        bytes = Data.fromDatabaseValue(row["output"]).map { [UInt8]($0) }
        file = String.fromDatabaseValue(row["outputFile"])
        hash = Data.fromDatabaseValue(row["outputHash"])
        guard let count = Int.fromDatabaseValue(row["outputBytes"]), bytes != nil || file != nil
        else { throw ChainRow.Broken(description: "an output cannot be read") }
        self.count = count
    }
}

/// The reading of rows.
package enum ChainReading {
    package static func load(_ seq: Int64, _ db: Database) throws -> (
        chain: ChainRow, tasks: [TaskRow]
    )? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT \(ChainRow.columns) FROM chain WHERE seq = ?"),
            arguments: [seq])
        guard let row else { return nil }
        let chain = try ChainRow(row)
        let count = try Int.fetchOne(
            db.cachedStatement(sql: "SELECT tasks FROM chain WHERE seq = ?"), arguments: [seq])
        let cursor = try Row.fetchCursor(
            db.cachedStatement(
                sql: "SELECT \(TaskRow.columns) FROM chainTask WHERE chain = ? ORDER BY place"),
            arguments: [seq])
        var tasks: [TaskRow] = []
        while let row = try cursor.next() {
            tasks.append(try TaskRow(row, place: tasks.count))
        }
        guard tasks.count == count else {
            throw ChainRow.Broken(description: "it has \(tasks.count) tasks of \(count ?? 0)")
        }
        return (chain, tasks)
    }

    /// When a chain and its tasks are late, by the tasks' names.
    package struct Deadlines: Sendable {
        package var chain: WallTime?
        package var tasks: [String: WallTime] = [:]
    }

    package static func deadlines(_ seq: Int64, _ db: Database) throws -> Deadlines {
        var found = Deadlines()
        found.chain = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT deadline FROM chain WHERE seq = ?"), arguments: [seq]
        ).map(WallTime.init(milliseconds:))
        let cursor = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT name, deadline FROM chainTask
                    WHERE chain = ? AND deadline IS NOT NULL
                    """), arguments: [seq])
        while let row = try cursor.next() {
            guard let name = String.fromDatabaseValue(row[0]),
                let deadline = Int64.fromDatabaseValue(row[1])
            else { continue }
            found.tasks[name] = WallTime(milliseconds: deadline)
        }
        return found
    }

    package static func seq(of id: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT seq FROM chain WHERE id = ?"), arguments: [id])
    }

    /// The chains of a name that have begun and not ended, but for one.
    package static func goingOn(named name: String, but seq: Int64, _ db: Database) throws
        -> [Int64]
    {
        try Int64.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT seq FROM chain WHERE name = ? AND name IS NOT NULL AND state < 10
                    AND state > 0 AND seq <> ?
                    """), arguments: [name, seq])
    }

    /// The input of a task or its compensation, and its last checkpoint.
    package static func work(_ seq: Int64, _ place: Int, isCompensation: Bool, _ db: Database)
        throws
        -> (input: [UInt8]?, checkpoint: [UInt8]?)
    {
        let given = isCompensation ? "undoInput" : "input"
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(given), checkpoint FROM chainTask WHERE chain = ? AND place = ?
                    """),
            arguments: [seq, place])
        guard let row else { return (nil, nil) }
        return (
            Data.fromDatabaseValue(row[0]).map { [UInt8]($0) },
            Data.fromDatabaseValue(row[1]).map { [UInt8]($0) }
        )
    }

    /// The output of a task that is done and not compensated.
    static func output(of task: String, by worker: String, in chain: String, _ db: Database)
        throws -> StoredOutput?
    {
        try Row.fetchOne(
            db,
            sql: """
                SELECT output, outputFile, outputBytes, outputHash FROM chainTask
                WHERE chain = (SELECT seq FROM chain WHERE id = ?) AND name = ? AND worker = ?
                AND state = 10 AND undo <> 10
                """, arguments: [chain, task, worker]
        ).map { try StoredOutput($0) }
    }

    /// The outputs of the tasks in some places, by place.
    package static func outputs(_ seq: Int64, _ places: Range<Int>, _ db: Database) throws
        -> [Int: StoredOutput]
    {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT place, output, outputFile, outputBytes, outputHash FROM chainTask
                    WHERE chain = ? AND place >= ? AND place < ? AND state = 10
                    AND worker IS NOT NULL
                    """), arguments: [seq, places.lowerBound, places.upperBound])
        var found: [Int: StoredOutput] = [:]
        for row in rows {
            guard let place = Int.fromDatabaseValue(row["place"]) else {
                throw ChainRow.Broken(description: "the place of a task cannot be read")
            }
            found[place] = try StoredOutput(row)
        }
        return found
    }
}
