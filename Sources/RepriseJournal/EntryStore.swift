import Foundation
import GRDB
import Logging
import RepriseCore
import Synchronization

/// The entries of a journal, as statements inside the writer's transaction.
///
/// Makes no decision about time or gates.
final class EntryStore: Sendable {
    let kinds: [String: EntryKind]
    let families: KindFamilies
    let schemas: [JournalSchema]
    private let observers: [(family: String, body: JournalSchema.Recorded)]
    let configuration: Journal.Configuration
    let incarnation: Int64
    private let writerState: Mutex<WriterState>
    /// The most entries of one partition key that may be in flight.
    private let widestPartition: Int
    private let folder: JournalFolder

    init(
        kinds: [String: EntryKind], schemas: [JournalSchema],
        configuration: Journal.Configuration, incarnation: Int64, folder: JournalFolder,
        writerState: WriterState
    ) {
        self.kinds = kinds
        families = KindFamilies(Array(kinds.values))
        self.schemas = schemas
        observers = schemas.compactMap { schema in schema.observes.map { ($0, schema.recorded) } }
        self.configuration = configuration
        self.incarnation = incarnation
        self.folder = folder
        self.writerState = Mutex(writerState)
        widestPartition = kinds.values.map(\.partitionWindow).max() ?? 1
    }

    // MARK: Transactions

    /// The calendar as of this transaction.
    var now: WallTime { writerState.withLock { $0.now } }

    /// Whether the calendar is trusted enough to expire entries.
    var mayExpire: Bool { writerState.withLock { $0.clock.mayExpire } }

    /// How many entries have not ended.
    var pending: Int { writerState.withLock { $0.pending } }

    /// The events of this transaction.
    var news: CommitEvents { writerState.withLock { $0.news } }

    /// The state in memory, to restore it with ``rollBack(to:)`` when a write fails.
    func savepoint() -> WriterState { writerState.withLock { $0 } }

    func rollBack(to savepoint: WriterState) { writerState.withLock { $0 = savepoint } }

    static let takenOver = RepriseError(
        .ownershipLost, "Another process has taken this journal over.",
        remedy: "Close this journal and open it again.")

    /// The first step of every transaction: refuses a former owner, and reads the clocks.
    func begin(_ db: Database) throws {
        let newest = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT incarnation FROM journal"))
        guard newest == incarnation else {
            throw Self.takenOver
        }
        writerState.withLock { $0.beginTransaction() }
        try observeClocks(db)
    }

    /// The last step of every transaction: the counters of guarantee 5.
    func finish(_ db: Database) throws {
        let (accepted, duplicates) = writerState.withLock { ($0.accepted, $0.duplicates) }
        guard accepted != 0 || duplicates != 0 else { return }
        try db.cachedStatement(
            sql: "UPDATE journal SET accepted = accepted + ?, duplicates = duplicates + ?"
        ).execute(arguments: [accepted, duplicates])
    }

    /// Marks that the next opening must prove the database sound.
    func suspect() { folder.suspect() }

    // MARK: Recording

    /// Records an entry; `recordedAt` is the original time, if it was recorded elsewhere.
    ///
    /// An owed entry follows from one that was already accepted: the limit does not apply.
    func record(
        _ new: NewEntry, recordedAt: WallTime? = nil, isOwed: Bool = false, in db: Database
    ) throws -> Recorded {
        let (now, pending) = writerState.withLock { ($0.now, $0.pending) }
        guard let kind = families.kind(new.kind) else { throw Self.unknownKind(new.kind) }
        if !isOwed, pending >= configuration.pendingLimit {
            if try exists(new.id, in: db) { return duplicate() }
            throw RepriseError(
                .full, "The journal holds \(pending) entries that have not ended.",
                remedy: "Record it again once some of them have.")
        }
        let recorded = min(recordedAt ?? now, now)
        let due = new.delay.flatMap { $0 > .zero ? recorded.later(by: $0) : nil }
        let bound = kind.bound.map { recorded.later(by: $0.after) }
        let (state, advances) = try firstState(
            partitionKey: new.partitionKey, kind, due: due, in: db)
        try db.cachedStatement(
            sql: """
                INSERT INTO entry (id, kind, source, lane, recordedAt, state, due, bound, payload)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
                """
        ).execute(arguments: [
            new.id.text, kind.name, new.source, new.partitionKey, recorded.milliseconds,
            state.rawValue,
            due?.milliseconds, bound?.milliseconds, Data(new.payload),
        ])
        guard db.changesCount == 1 else { return duplicate() }
        writerState.withLock { writerState in
            writerState.news.recorded[kind.name] = db.lastInsertedRowID
            writerState.entryAdded(kind.name, isReady: state == .ready, due: due, bound: bound)
        }
        tell(
            .debug, "An entry is recorded.",
            ["id": new.id.text, "kind": new.kind, "source": new.source], db)
        try observe(kind.name, new.payload, recorded, in: db)
        if advances, let partitionKey = new.partitionKey { try advance(partitionKey, in: db) }
        return .accepted
    }

    /// Tells the features that observe a kind.
    private func observe(
        _ kind: String, _ payload: [UInt8], _ recorded: WallTime, in db: Database
    ) throws {
        for (family, body) in observers
        where kind.hasPrefix(family)
            && (kind.utf8.count == family.utf8.count || kind.hasPrefix(family + "."))
        {
            try body(db, payload, recorded)
        }
    }

    /// Logs what a transaction has done, once it is committed.
    private func tell(
        _ level: Logger.Level, _ message: Logger.Message,
        _ values: @autoclosure () throws -> [String: String?], _ db: Database
    ) rethrows {
        let logger = configuration.logger
        guard logger.logLevel <= level else { return }
        let values = try values()
        db.afterNextTransaction { _ in logger.tell(level, message, values) }
    }

    /// The names of an entry, for the log.
    private func names(_ seq: Int64, _ db: Database) throws -> [String: String?] {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT id, kind FROM entry WHERE seq = ?"), arguments: [seq])
        return [
            "id": row.flatMap { String.fromDatabaseValue($0[0]) },
            "kind": row.flatMap { String.fromDatabaseValue($0[1]) },
        ]
    }

    /// Entries of a kind may be ready now.
    func becameReady(_ kind: String) { writerState.withLock { _ = $0.news.kinds.insert(kind) } }

    private func duplicate() -> Recorded {
        writerState.withLock { $0.duplicates += 1 }
        return .duplicate
    }

    private func exists(_ id: EntryID, in db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM entry WHERE id = ?)"),
            arguments: [id.text]) ?? false
    }

    /// - Returns: whether the partition key must check if it can advance at once, too.
    private func firstState(
        partitionKey: String?, _ kind: EntryKind?, due: WallTime?, in db: Database
    ) throws -> (StateCode, advances: Bool) {
        if let partitionKey {
            let last = try Int.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT state FROM entry WHERE lane = ? AND lane IS NOT NULL AND state < 10
                        ORDER BY seq DESC LIMIT 1
                        """), arguments: [partitionKey])
            if let last {
                // Behind a waiting entry it waits too, so that a backlog costs nothing here.
                let isMoving =
                    last == StateCode.ready.rawValue || last == StateCode.inFlight.rawValue
                return (.queued, isMoving && (kind?.partitionWindow ?? 1) > 1)
            }
        }
        return (due == nil ? .ready : .delayed, false)
    }

    /// Records an entry of another journal, whatever the limit of this one: it was already
    /// accepted.
    func adopt(_ waiting: WaitingEntry, in db: Database) throws {
        let (row, new, due) = (waiting.row, waiting.row.entry, waiting.due)
        let (state, advances) = try firstState(
            partitionKey: new.partitionKey, kinds[new.kind], due: due, in: db)
        try db.cachedStatement(
            sql: """
                INSERT INTO entry (id, kind, source, lane, recordedAt, state, due, bound, payload,
                attempt, failures, interrupted, interruptions, released, reason)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
                """
        ).execute(arguments: [
            new.id.text, new.kind, new.source, new.partitionKey, new.recordedAt.milliseconds,
            state.rawValue, due?.milliseconds, row.bound?.milliseconds, Data(new.payload),
            new.attempt, row.failures, row.interrupted, row.wasInterrupted ? 1 : 0, row.released,
            new.reason,
        ])
        guard db.changesCount == 1 else { return }  // moved before, by a process that was killed
        writerState.withLock {
            $0.entryAdded(new.kind, isReady: state == .ready, due: due, bound: row.bound)
        }
        try observe(new.kind, new.payload, new.recordedAt, in: db)
        if advances, let partitionKey = new.partitionKey { try advance(partitionKey, in: db) }
    }

    // MARK: Ending

    /// Ends an entry, whatever it waits for, and advances its partition key.
    func end(
        _ seq: Int64, partitionKey: String?, as code: StateCode, reason: String? = nil,
        in db: Database
    ) throws {
        let due = now.later(by: configuration.retention)
        try db.cachedStatement(
            sql: """
                UPDATE entry SET state = ?, due = ?, reason = ?, bound = NULL, incarnation = NULL,
                interrupted = 0, released = 0 WHERE seq = ? AND state < 10
                """
        ).execute(arguments: [code.rawValue, due.milliseconds, reason?.kept, seq])
        guard db.changesCount == 1 else { return }
        writerState.withLock { $0.pending -= 1 }
        try tell(
            code == .applied ? .debug : .info, "An entry has ended.",
            try names(seq, db).merging(["outcome": "\(code)", "reason": reason?.kept]) { $1 }, db)
        if let partitionKey { try advance(partitionKey, in: db) }
    }

    func endAll(reason: String, in db: Database) throws {
        try endAll(where: "state < 10", [], as: .dead, reason: reason, in: db)
    }

    func endAll(of kinds: [String], as outcome: Outcome, reason: String, in db: Database) throws
        -> Int
    {
        var ended = 0
        for kind in kinds {
            ended += try endAll(
                where: "kind = ? AND state < 10", [kind], as: outcome, reason: reason, in: db)
        }
        return ended
    }

    @discardableResult
    private func endAll(
        where condition: String, _ arguments: StatementArguments, as outcome: Outcome,
        reason: String, in db: Database
    ) throws -> Int {
        try db.execute(
            sql: """
                UPDATE entry SET state = ?, due = ?, reason = ?, bound = NULL, incarnation = NULL,
                interrupted = 0, released = 0 WHERE \(condition)
                """,
            arguments: [
                StateCode(outcome).rawValue, now.later(by: configuration.retention).milliseconds,
                reason.kept,
            ] + arguments)
        let ended = db.changesCount
        writerState.withLock { $0.pending -= ended }
        return ended
    }

    /// Makes a dead letter pending.
    func retry(_ id: EntryID, in db: Database) throws {
        let row = try Row.fetchOne(
            db, sql: "SELECT seq, lane, kind FROM entry WHERE id = ? AND state = 13",
            arguments: [id.text])
        guard let row, let seq = Int64.fromDatabaseValue(row[0]) else {
            throw Self.noDeadLetter(id)
        }
        let partitionKey = String.fromDatabaseValue(row[1])
        // With a partition key it waits even for a later entry in flight: `advance` decides the
        // order.
        let state: StateCode = partitionKey == nil ? .ready : .queued
        try db.execute(
            sql: """
                UPDATE entry SET state = ?, due = NULL, failures = 0, interruptions = 0,
                interrupted = 0, reason = NULL WHERE seq = ?
                """, arguments: [state.rawValue, seq])
        writerState.withLock { writerState in
            writerState.pending += 1
            if let kind = String.fromDatabaseValue(row[2]) { writerState.news.kinds.insert(kind) }
        }
        if let partitionKey { try advance(partitionKey, in: db) }
    }

    /// Requeues an entry for `wait`; later ones of its partition key that are not in flight wait
    /// for it.
    ///
    /// `attempts` counts attempts that were made and are not counted yet.
    func putBack(
        _ seq: Int64, partitionKey: String?, after wait: Duration, failed: Bool, attempts: Int = 0,
        reason: String?, in db: Database
    ) throws {
        let due = now.later(by: wait)
        try db.cachedStatement(
            sql: """
                UPDATE entry SET state = 2, due = ?, failures = failures + ?,
                attempt = attempt + ?, reason = ?, incarnation = NULL, interrupted = 0
                WHERE seq = ? AND state IN (0, 3)
                """
        ).execute(arguments: [due.milliseconds, failed, attempts, reason?.kept, seq])
        writerState.withLock { $0.due(due) }
        try tell(
            .debug, "An entry is dispatched again later.",
            try names(seq, db).merging(["after": "\(wait)", "reason": reason?.kept]) { $1 }, db)
        guard let partitionKey, widestPartition > 1 else { return }
        try db.cachedStatement(
            sql: """
                UPDATE entry SET state = 1
                WHERE lane = ? AND lane IS NOT NULL AND state = 0 AND seq > ?
                """
        ).execute(arguments: [partitionKey, seq])
    }

    /// Makes the first unfinished entries of a partition key ready, as many as its window has room
    /// for.
    ///
    /// An entry that waits for its time, or has another kind, blocks those behind it.
    func advance(_ partitionKey: String, in db: Database) throws {
        for (seq, state, kind) in try promotions(in: partitionKey, db) {
            try db.cachedStatement(sql: "UPDATE entry SET state = ? WHERE seq = ?").execute(
                arguments: [state.rawValue, seq])
            if state == .ready { becameReady(kind) }
        }
    }

    private func promotions(in partitionKey: String, _ db: Database) throws
        -> [(seq: Int64, StateCode, kind: String)]
    {
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT seq, state, due, kind FROM entry
                    WHERE lane = ? AND lane IS NOT NULL AND state < 10 ORDER BY seq LIMIT ?
                    """), arguments: [partitionKey, widestPartition])
        var found: [(Int64, StateCode, String)] = []
        var place = 0
        var first: String?
        while let row = try rows.next() {
            guard let kind = String.fromDatabaseValue(row[3]),
                let seq = Int64.fromDatabaseValue(row[0]),
                let state = Int.fromDatabaseValue(row[1]).flatMap(StateCode.init(rawValue:))
            else { break }
            guard place == 0 || kind == first && place < kinds[kind]?.partitionWindow ?? 1 else {
                break
            }
            first = kind
            place += 1
            if state == .delayed { break }
            guard state == .queued else { continue }
            if let due = Int64.fromDatabaseValue(row[2]) {
                writerState.withLock { $0.due(WallTime(milliseconds: due)) }
                found.append((seq, .delayed, kind))
                break
            }
            found.append((seq, .ready, kind))
        }
        return found
    }

    /// The previous unfinished entry of a partition key.
    func predecessor(of seq: Int64, in partitionKey: String, _ db: Database) throws
        -> (id: EntryID?, isInFlight: Bool)
    {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT id, state FROM entry
                    WHERE lane = ? AND lane IS NOT NULL AND state < 10 AND seq < ?
                    ORDER BY seq DESC LIMIT 1
                    """), arguments: [partitionKey, seq])
        guard let row else { return (nil, false) }
        let id = String.fromDatabaseValue(row[0]).flatMap { try? EntryID($0) }
        return (id, Int.fromDatabaseValue(row[1]) == StateCode.inFlight.rawValue)
    }

    /// Quarantines an unreadable row, so that it blocks nothing.
    ///
    /// It counts as dead.
    func quarantine(_ broken: EntryRow.Broken, in db: Database) throws {
        if let partitionKey = try setAside(broken, in: db) { try advance(partitionKey, in: db) }
    }

    /// - Returns: the partition key, which has to advance.
    func setAside(_ broken: EntryRow.Broken, in db: Database) throws -> String? {
        let due = now.later(by: configuration.retention)
        let row = try Row.fetchOne(
            db, sql: "SELECT lane, state FROM entry WHERE seq = ?", arguments: [broken.seq])
        guard let row else { return nil }
        try db.execute(
            sql: """
                INSERT INTO quarantine SELECT seq, ?, ?, id, kind, source, payload
                FROM entry WHERE seq = ?
                """, arguments: [due.milliseconds, broken.why, broken.seq])
        try db.execute(sql: "DELETE FROM entry WHERE seq = ?", arguments: [broken.seq])
        let code = Int.fromDatabaseValue(row[1]).flatMap(StateCode.init(rawValue:))
        // A row whose state is unknown was not counted as pending.
        if let code, code.outcome == nil { writerState.withLock { $0.pending -= 1 } }
        return String.fromDatabaseValue(row[0])
    }

    // MARK: The calendar

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
    private func observeClocks(_ db: Database) throws {
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
        try JournalSchema.move(["entry": ["due"]], where: "state >= 10", db, by: step)
        try JournalSchema.move(["quarantine": ["due"]], db, by: step)
        for schema in schemas { try schema.retentionMoved(db, step) }
    }

    private func moveWhatIsDue(by correction: Duration, in db: Database) throws {
        // In flight and finished alike: a wait keeps its length, and a finished entry its
        // retention.
        try JournalSchema.move(["entry": ["due", "bound"]], db, by: correction)
        // An entry's age must not include the jump.
        try JournalSchema.move(["entry": ["recordedAt"]], where: "state < 10", db, by: correction)
        try JournalSchema.move(["quarantine": ["due"]], db, by: correction)
        for schema in schemas { try schema.calendarMoved(db, correction) }
        writerState.withLock { writerState in
            writerState.due(writerState.now)
            writerState.news.moved += correction
        }
    }

    static func unknownKind(_ name: String) -> RepriseError {
        RepriseError(
            .unknownKind, "No kind named \(name) was declared when the journal was opened.",
            remedy: "Declare it in the list of kinds given to Journal.open.")
    }
}

extension WallTime {
    /// This moment plus a wait, cut to the journal's maximum, so that sums never overflow.
    func later(by wait: Duration) -> WallTime {
        advanced(by: min(wait, .seconds(JournalLimits.longestWaitDays * 86_400)))
    }
}

extension String {
    /// The part of a reason that is stored.
    var kept: String { String(decoding: utf8.prefix(JournalLimits.reasonBytes), as: UTF8.self) }
}
