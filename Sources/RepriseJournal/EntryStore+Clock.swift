import GRDB
import Logging
import RepriseCore
import Synchronization

/// The rule for a calendar that jumps.
extension EntryStore {
    /// A larger step of the calendar moves due moments with it.
    private static let step: Duration = .seconds(60)

    private static func isStep(_ correction: Duration) -> Bool {
        correction > step || correction < .zero - step
    }

    /// Whether the calendar was set since the last transaction.
    var isCalendarSet: Bool {
        let clockReading = configuration.timekeeper.clockReading()
        return Self.isStep(writerState.withLock { $0.clock.correction(to: clockReading) })
    }

    /// Reads the clocks.
    ///
    /// Due moments move with a calendar that is set, so that waits keep their length;
    /// `WallClockGuard` says what stops until the calendar is trusted again.
    func observeClocks(_ db: Database) throws {
        let clockReading = configuration.timekeeper.clockReading()
        let (correction, hidden, isOld, trust) = writerState.withLock { writerState in
            let correction = writerState.clock.correction(to: clockReading)
            let hidden = writerState.clock.hiddenStep(to: clockReading)
            let before = writerState.clock.mayExpire
            writerState.clock.observe(clockReading)
            writerState.now = clockReading.wall
            let isOld = clockReading.uptime - writerState.sighted > .seconds(3_600)
            let trust = writerState.clock.mayExpire
            return (correction, hidden, isOld, trust == before ? nil : trust)
        }
        let jumped = Self.isStep(correction)
        if jumped {
            try moveWhatIsDue(by: correction, in: db)
            tell(
                .notice, "The calendar was set: waits keep their length.",
                ["by": "\(correction)"], db)
        }
        if hidden > .zero { try moveRetention(by: hidden, in: db) }
        if let trust { tellTrust(trust, db) }
        if jumped || hidden > .zero || isOld || trust != nil { try writeClockReading(db) }
    }

    private func tellTrust(_ isTrusted: Bool, _ db: Database) {
        if isTrusted {
            tell(.notice, "The calendar is trusted again: what is over expires.", [:], db)
        } else {
            tell(
                .notice,
                "The calendar is doubted: nothing expires until the server says the time, or for a day.",
                [:], db)
        }
    }

    /// The server reported its time.
    func serverTimeReceived(_ time: WallTime, in db: Database) throws {
        let clockReading = configuration.timekeeper.clockReading()
        let (before, after) = writerState.withLock { writerState in
            let before = writerState.clock.mayExpire
            writerState.clock.serverTimeReceived(time, now: clockReading)
            writerState.due(writerState.now)  // look at what may now be expired
            return (before, writerState.clock.mayExpire)
        }
        if before != after { tellTrust(after, db) }
        try writeClockReading(db)
    }

    func writeClockReading(_ db: Database) throws {
        let clock = writerState.withLock { writerState in
            writerState.sighted = writerState.clock.last.uptime
            return writerState.clock
        }
        try db.cachedStatement(
            sql: """
                UPDATE journal SET sightedWall = ?, sightedUptime = ?, sightedBoot = ?, doubted = ?,
                doubtSeen = ?
                """
        ).execute(arguments: [
            clock.last.wall.milliseconds, clock.last.uptime.milliseconds, clock.last.boot,
            clock.doubt != nil, clock.doubt?.milliseconds ?? 0,
        ])
    }

    /// - Returns: the reading that an earlier process stored, and its doubt of the calendar.
    static func readClockReading(
        _ db: Database
    ) throws -> (clockReading: ClockReading?, doubt: Duration?) {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT sightedWall, sightedUptime, sightedBoot, doubted, doubtSeen FROM journal
                    """))
        guard let row, let wall = Int64.fromDatabaseValue(row[0]),
            let uptime = Int64.fromDatabaseValue(row[1]),
            let boot = String.fromDatabaseValue(row[2])
        else { return (nil, nil) }
        let clockReading = ClockReading(
            wall: WallTime(milliseconds: wall), uptime: .milliseconds(uptime), boot: boot)
        let seen = Duration.milliseconds(Int64.fromDatabaseValue(row[4]) ?? 0)
        let isDoubted = Bool.fromDatabaseValue(row[3]) ?? true
        return (clockReading, isDoubted ? max(seen, .zero) : nil)
    }

    /// Finished entries keep their retention even if the calendar turns out to be wrong.
    private func moveRetention(by step: Duration, in db: Database) throws {
        try db.execute(
            sql: "UPDATE entry SET due = due + ? WHERE state >= 10 AND due IS NOT NULL",
            arguments: [step.milliseconds])
        try db.execute(
            sql: "UPDATE quarantine SET due = due + ?", arguments: [step.milliseconds])
        for schema in schemas { try schema.retentionMoved(db, step) }
    }

    private func moveWhatIsDue(by correction: Duration, in db: Database) throws {
        let step = correction.milliseconds
        // In flight and finished alike: a wait keeps its length, and a finished entry its
        // retention.
        try db.execute(
            sql: "UPDATE entry SET due = due + ? WHERE due IS NOT NULL", arguments: [step])
        try db.execute(
            sql: "UPDATE entry SET bound = bound + ? WHERE bound IS NOT NULL", arguments: [step])
        // An entry's age must not include the jump.
        try db.execute(
            sql: "UPDATE entry SET recordedAt = recordedAt + ? WHERE state < 10",
            arguments: [step])
        try db.execute(sql: "UPDATE quarantine SET due = due + ?", arguments: [step])
        for schema in schemas { try schema.calendarMoved(db, correction) }
        writerState.withLock { writerState in
            writerState.due(writerState.now)
            writerState.news.moved += correction
        }
    }
}
