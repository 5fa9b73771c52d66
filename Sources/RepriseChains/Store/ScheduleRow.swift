import Foundation
package import GRDB
package import RepriseCore

/// What an app says of a schedule.
package struct NewSchedule: Sendable {
    package let name: String
    package let definition: String
    package let rule: ChainSchedule
    /// Of each run, as JSON.
    package let input: [UInt8]
    package let constraints: ChainConstraints
    /// Of each run, from its start.
    package let deadline: Duration?

    package init(
        name: String, definition: String, rule: ChainSchedule, input: [UInt8],
        constraints: ChainConstraints, deadline: Duration?
    ) {
        (self.name, self.definition, self.rule) = (name, definition, rule)
        (self.input, self.constraints, self.deadline) = (input, constraints, deadline)
    }
}

/// A schedule as its row has it.
package struct ScheduleRow: Sendable {
    package let name: String
    package let definition: String
    /// Nil: this version of the app cannot read it.
    package let rule: ChainSchedule?
    let ruleText: String
    package let input: [UInt8]
    package let constraints: ChainConstraints
    package let deadline: Duration?
    package let since: WallTime
    let last: String?
    package let next: WallTime?
    /// The command that waits for the next time.
    package let entry: String?
    /// Why it is suspended.
    package let reason: String?

    static let columns = """
        name, definition, rule, input, needs, needsBytes, deadline, since, last, next, entry, reason
        """

    init(_ row: Row) {
        name = String.fromDatabaseValue(row[0]) ?? ""
        definition = String.fromDatabaseValue(row[1]) ?? ""
        ruleText = String.fromDatabaseValue(row[2]) ?? ""
        rule = Self.readRule(ruleText)
        input = Data.fromDatabaseValue(row[3]).map(Array.init) ?? []
        constraints = ChainConstraints(
            bits: Int.fromDatabaseValue(row[4]) ?? 0,
            freeBytes: Int64.fromDatabaseValue(row[5]) ?? 0)
        deadline = Int64.fromDatabaseValue(row[6]).map { .milliseconds($0) }
        since = WallTime(milliseconds: Int64.fromDatabaseValue(row[7]) ?? 0)
        last = String.fromDatabaseValue(row[8])
        next = Int64.fromDatabaseValue(row[9]).map { WallTime(milliseconds: $0) }
        entry = String.fromDatabaseValue(row[10])
        reason = String.fromDatabaseValue(row[11])
    }

    static func readRule(_ text: String) -> ChainSchedule? {
        guard let rule = try? ChainJSON.decode(ChainSchedule.self, from: Array(text.utf8)),
            (try? rule.check()) != nil
        else { return nil }
        return rule
    }

    /// The rule as it is stored; equal rules are equal texts.
    static func text(_ rule: ChainSchedule) throws -> String {
        String(decoding: try ChainJSON.encode(rule), as: UTF8.self)
    }

    package static func read(_ name: String, _ db: Database) throws -> ScheduleRow? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT \(columns) FROM chainSchedule WHERE name = ?"),
            arguments: [name]
        ).map(ScheduleRow.init)
    }

    static func all(_ db: Database) throws -> [ScheduleRow] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT \(columns) FROM chainSchedule ORDER BY name")
        ).map(ScheduleRow.init)
    }

    /// The run that is due.
    ///
    /// - Throws: why this version of the app cannot start it.
    package func newRun(
        _ chain: (any ChainDefinition)?, id: String = EntryID.random().text,
        hasWorker: (String) -> Bool
    ) throws -> NewChain {
        guard let chain else {
            throw RepriseError(.unavailable, "No chain named \(definition) is registered.")
        }
        let plan = try chain.plan(for: input)
        if let missing = plan.missingWorker(hasWorker) { throw missing }
        return NewChain(
            id: id, definition: chain.name, version: chain.version,
            plan: plan, input: input, name: name, onConflict: .keep, constraints: constraints,
            delay: nil, deadline: deadline)
    }

    /// Nil: this version cannot read its rule.
    var times: ScheduleTimes? { rule.map { ScheduleTimes($0, since: since, last: last) } }
}
