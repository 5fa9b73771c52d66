package import Foundation
package import GRDB
package import RepriseCore
import RepriseJournal

/// The schedules of a journal, and the commands that wait for their times.
///
/// Of each one command waits, a delayed entry. The transaction that ends it starts the run or
/// counts it as skipped, and records the next command. A command whose id is not in the row has
/// been replaced, and does nothing.
package enum ChainSchedules {
    /// A wait that differs by less from what it should be is left.
    private static let tolerance: Duration = .seconds(1)

    package static func isAny(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM chainSchedule)")) ?? false
    }

    // MARK: What an app says

    /// Adds a schedule, or changes the one of this name.
    ///
    /// - Throws: `RepriseError` `.full`.
    package static func save(
        _ new: NewSchedule, in zone: TimeZone, _ db: Database, _ journal: some ChainEntries
    ) throws -> ChainScheduleChange {
        let text = try ScheduleRow.text(new.rule)
        guard let old = try ScheduleRow.read(new.name, db) else {
            try add(new, text, db, at: journal.now)
            try arm(new.name, ScheduleTimes(new.rule, since: journal.now), in: zone, db, journal)
            return .added
        }
        let isSameRule = old.ruleText == text
        let isSame =
            isSameRule && old.definition == new.definition && old.input == new.input
            && old.constraints == new.constraints
            && old.deadline?.milliseconds == new.deadline?.milliseconds
        // What it was suspended for may be over.
        guard !isSame || old.reason != nil else { return .kept }
        // With another command: one that is on its way has made a run of what was said before.
        if !isSame { try change(new, text, db) }
        // One that this version cannot read is of another kind.
        var times = old.times ?? ScheduleTimes(new.rule, since: journal.now)
        if !isSameRule { times.changed(to: new.rule, at: journal.now) }
        try withdraw(old, db, journal)
        try arm(new.name, times, in: zone, db, journal)
        return isSame ? .kept : .updated
    }

    /// - Returns: whether there was one.
    package static func remove(
        _ name: String, _ db: Database, _ journal: some ChainEntries
    ) throws -> Bool {
        guard let row = try ScheduleRow.read(name, db) else { return false }
        try withdraw(row, db, journal)
        try db.execute(sql: "DELETE FROM chainSchedule WHERE name = ?", arguments: [name])
        return true
    }

    private static func add(
        _ new: NewSchedule, _ text: String, _ db: Database, at now: WallTime
    ) throws {
        let count = try Int.fetchOne(db, sql: "SELECT COUNT(*) FROM chainSchedule") ?? 0
        guard count < ChainsLimits.schedules else {
            throw RepriseError(
                .full, "There are \(count) schedules.",
                remedy: "Remove those that the app does not need any more.")
        }
        try db.execute(
            sql: """
                INSERT INTO chainSchedule
                (name, definition, rule, input, needs, needsBytes, deadline, since)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                new.name, new.definition, text, Data(new.input), new.constraints.bits,
                new.constraints.freeBytes, new.deadline?.milliseconds, now.milliseconds,
            ])
    }

    private static func change(_ new: NewSchedule, _ text: String, _ db: Database) throws {
        try db.execute(
            sql: """
                UPDATE chainSchedule SET definition = ?, rule = ?, input = ?, needs = ?,
                needsBytes = ?, deadline = ? WHERE name = ?
                """,
            arguments: [
                new.definition, text, Data(new.input), new.constraints.bits,
                new.constraints.freeBytes, new.deadline?.milliseconds, new.name,
            ])
    }

    // MARK: Its time

    /// The command of a schedule was dispatched: starts the run if it is due, or skips it while
    /// one is under way, and waits for the next time.
    ///
    /// A failure as `run`, why the app cannot start it, suspends the schedule.
    package static func came(
        _ entry: EntryID, of name: String, _ run: Result<NewChain, any Error>, in zone: TimeZone,
        _ db: Database, _ journal: some ChainEntries
    ) throws {
        guard let row = try ScheduleRow.read(name, db), row.entry == entry.text else { return }
        let now = journal.now
        guard var times = row.times else {
            return try suspend(name, "Its rule cannot be read.", db)
        }
        // The calendar or the zone may have changed since this was recorded.
        times.looked(at: now, in: zone)
        guard let due = times.next(at: now, in: zone), due <= now else {
            return try arm(name, times, in: zone, db, journal)
        }
        switch run {
        case .failure(let error): return try suspend(name, "\(error)", db)
        case .success(let chain):
            if try isUnderWay(name, db) {
                try db.execute(
                    sql: "UPDATE chainSchedule SET skipped = skipped + 1 WHERE name = ?",
                    arguments: [name])
            } else {
                try chain.insert(db, journal, isOwed: true)
                try db.execute(
                    sql: """
                        UPDATE chainSchedule SET run = ?, runAt = ?, runState = NULL
                        WHERE name = ?
                        """, arguments: [chain.id, now.milliseconds, name])
            }
        }
        times.came(at: now, in: zone)
        try arm(name, times, in: zone, db, journal)
    }

    private static func isUnderWay(_ name: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM chain
                    WHERE name = ? AND name IS NOT NULL AND state < 10)
                    """), arguments: [name]) ?? false
    }

    /// Corrects waits after the calendar, the zone or the app has changed.
    package static func review(
        in zone: TimeZone, _ db: Database, _ journal: some ChainEntries
    ) throws {
        let now = journal.now
        for row in try ScheduleRow.all(db) {
            guard var times = row.times else { continue }
            times.looked(at: now, in: zone)
            let found = try Row.fetchOne(
                db, sql: "SELECT state, due FROM entry WHERE id = ?", arguments: [row.entry])
            switch found.flatMap({ Int.fromDatabaseValue($0[0]) }) {
            case 2:
                let due =
                    found.flatMap { Int64.fromDatabaseValue($0[1]) }
                    .map(WallTime.init(milliseconds:)) ?? now
                if let next = times.next(at: now, in: zone), times == row.times,
                    max(due.duration(to: next), next.duration(to: due)) < tolerance
                {
                    continue
                }
            // It is on its way, and looks itself.
            case 0, 1, 3: continue
            // The process died each time that this run was to begin.
            case 13: times.came(at: now, in: zone)
            default: break
            }
            // A rule that has ended stays so, unless the calendar was set back.
            if row.entry == nil, row.reason == nil, times.next(at: now, in: zone) == nil {
                continue
            }
            try withdraw(row, db, journal)
            try arm(row.name, times, in: zone, db, journal)
        }
    }

    /// An interval keeps its length when the calendar is set; a time of day does not move.
    static func move(_ db: Database, by step: Duration) throws {
        let readable = try JournalSchema.readable("chainSchedule", db)
        for row in try ScheduleRow.all(db) {
            guard case .every? = row.rule else { continue }
            try db.execute(
                sql: "UPDATE chainSchedule SET since = ?, next = ? WHERE name = ? AND \(readable)",
                arguments: [
                    row.since.advanced(by: step).milliseconds,
                    row.next?.advanced(by: step).milliseconds, row.name,
                ])
        }
    }

    // MARK: Waiting

    /// Records the command for the next time.
    private static func arm(
        _ name: String, _ times: ScheduleTimes, in zone: TimeZone, _ db: Database,
        _ journal: some ChainEntries
    ) throws {
        let now = journal.now
        let next = times.next(at: now, in: zone)
        let entry = EntryID.random()
        try db.execute(
            sql: """
                UPDATE chainSchedule SET since = ?, last = ?, next = ?, entry = ?, reason = NULL
                WHERE name = ?
                """,
            arguments: [
                times.since.milliseconds, times.last, next?.milliseconds,
                next == nil ? nil : entry.text, name,
            ])
        guard let next else { return }
        // Owed: there are few schedules, and a full journal must not end one.
        try journal.record(
            owed: NewEntry(
                id: entry, kind: Chains.commandKind, source: "chains",
                payload: ChainCommand(.scheduled, chain: "", task: name).bytes,
                delay: now.duration(to: next)), in: db)
    }

    private static func withdraw(
        _ row: ScheduleRow, _ db: Database, _ journal: some ChainEntries
    ) throws {
        guard let entry = row.entry else { return }
        _ = try journal.end(
            EntryID(unchecked: entry), as: .superseded, reason: "withdrawn", in: db)
    }

    /// Its next time stays, and is due when the app can start it again.
    private static func suspend(_ name: String, _ reason: String, _ db: Database) throws {
        try db.execute(
            sql: "UPDATE chainSchedule SET entry = NULL, reason = ? WHERE name = ?",
            arguments: [reason.limited(to: ChainsLimits.errorBytes), name])
    }
}
