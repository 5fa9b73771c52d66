import Foundation
import GRDB
import RepriseCore
import RepriseJournal
import RepriseWire

/// Settings in the journal: read and written in its transactions.
struct SettingStore: Sendable {
    /// A row's state for the server.
    enum State: Int {
        case told = 0
        case waits = 1
        case refused = 2
    }

    /// What a target's row says of an entry.
    enum Match {
        case current
        case replaced
        /// The row cannot be read, and the entry is its newest as far as that is known.
        case unreadable
    }

    /// A row as the tables declare it.
    private struct Stored {
        let value: SettingValue?
        let state: State
        let entry: EntryID?

        /// - Throws: ``RepriseCore/RepriseError`` `.corrupt`.
        init(_ row: Row) throws {
            value = try Self.value(in: row)
            guard let state = State(rawValue: try row.checked("state")) else {
                throw row.damaged("state")
            }
            self.state = state
            entry = try (row.checked("entry") as String?).map { try EntryID($0) }
            guard (entry == nil) == (state == .told) else { throw row.damaged("entry") }
            _ = try row.checked("reason") as String?
            _ = try row.checked("revision") as Int64
        }

        static func value(in row: Row) throws -> SettingValue? {
            try (row.checked("value") as Data?).map { try SettingValue.read($0) }
        }

        static func row(of target: SettingTarget, _ db: Database) throws -> Row? {
            try Row.fetchOne(
                db,
                sql: """
                    SELECT value, state, entry, reason, revision FROM noticesSetting
                    WHERE target = ?
                    """, arguments: [target.text])
        }
    }

    let journal: Journal

    // MARK: Set here

    /// Sets a value: it applies at once, and is sent to the server.
    ///
    /// Replaces waiting changes of the same target; one in flight is sent first.
    ///
    /// - Parameters:
    ///   - target: of the setting.
    ///   - value: nil: removes it.
    ///   - again: sends it even if the server should know it.
    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``NoticeLimits/mutes``; what the journal
    ///   throws.
    func set(_ target: SettingTarget, _ value: SettingValue?, again: Bool = false) async throws {
        let payload = [UInt8](
            try JSONEncoder().encode(SettingChange(target: target.text, value: value)))
        try await journal.write { [journal] db in
            let row = try Stored.row(of: target, db)
            // A row that cannot be read counts as another value.
            let stored = try? row.map { try Stored($0) }
            let isSame = row.map { _ in
                stored.map { $0.value == value && $0.state != .refused } ?? false
            }
            if isSame ?? (value == nil), !again { return }
            if value != nil, row == nil { try Self.checkRoom(target, db) }
            if let text = try? row?.checked("entry") as String?, let before = try? EntryID(text) {
                _ = try journal.end(before, as: .superseded, reason: "It was set again.", in: db)
                if stored?.state == .refused {
                    try? journal.discard(before, in: db)
                }
            }
            let entry = NewEntry(
                kind: NoticeKinds.setting, payload: payload, partitionKey: target.partitionKey)
            try journal.record(entry, in: db)
            try Self.write(target, value, entry.id, db)
        }
    }

    /// A value that waits for its entry to be sent.
    private static func write(
        _ target: SettingTarget, _ value: SettingValue?, _ entry: EntryID, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                INSERT INTO noticesSetting VALUES (?, ?, ?, ?, NULL, ?)
                ON CONFLICT DO UPDATE SET value = excluded.value, state = excluded.state,
                entry = excluded.entry, reason = NULL, revision = excluded.revision
                """,
            arguments: [
                target.text, try value?.bytes, State.waits.rawValue, entry.text, try next(db),
            ])
    }

    private static func checkRoom(_ target: SettingTarget, _ db: Database) throws {
        guard target.isMute else { return }
        let mutes = try Int.fetchOne(
            db,
            sql: """
                SELECT count(*) FROM noticesSetting
                WHERE value IS NOT NULL AND (target LIKE 'channel:%' OR target LIKE 'user:%')
                """)
        guard (mutes ?? 0) < NoticeLimits.mutes else {
            throw RepriseError(
                .full, "There are at most \(NoticeLimits.mutes) mutes.",
                remedy: "End those that are not needed any more.")
        }
    }

    // MARK: Sent

    /// Whether an entry is still the current setting; `value` is its value.
    func match(
        _ entry: EntryID, _ target: SettingTarget, _ value: SettingValue?
    ) async throws -> Match {
        try await journal.read { db in try Self.match(entry, target, value, db) }
    }

    private static func match(
        _ entry: EntryID, _ target: SettingTarget, _ value: SettingValue?, _ db: Database
    ) throws -> Match {
        guard let row = try Stored.row(of: target, db) else { return .replaced }
        if let stored = try? Stored(row) { return stored.entry == entry ? .current : .replaced }
        if let text = try? row.checked("entry") as String?, let newest = try? EntryID(text) {
            return newest == entry ? .unreadable : .replaced
        }
        do {
            return try Stored.value(in: row) == value ? .unreadable : .replaced
        } catch {
            return .unreadable
        }
    }

    /// Writes a row that cannot be read anew, from the entry that is sent.
    ///
    /// SQLite updates no row with a value of another type, unless that one is replaced.
    func mend(
        _ entry: EntryID, _ target: SettingTarget, _ value: SettingValue?
    ) async throws {
        try await journal.write { db in
            guard case .unreadable = try Self.match(entry, target, value, db) else { return }
            try Self.write(target, value, entry, db)
        }
    }

    /// The server has accepted an entry.
    func told(_ entry: EntryID, _ target: SettingTarget) async throws {
        try await journal.write { db in
            try db.execute(
                sql: """
                    UPDATE noticesSetting SET state = 0, entry = NULL, reason = NULL, revision = ?
                    WHERE target = ? AND entry = ?
                    """, arguments: [try Self.next(db), target.text, entry.text])
        }
    }

    /// The server has refused it for good.
    func refused(_ entry: EntryID, _ target: SettingTarget, _ reason: String) async throws {
        try await journal.write { db in
            try db.execute(
                sql: """
                    UPDATE noticesSetting SET state = 2, reason = ?, revision = ?
                    WHERE target = ? AND entry = ?
                    """, arguments: [reason, try Self.next(db), target.text, entry.text])
        }
    }

    // MARK: Read back

    /// The revision of the settings, before the server's are read.
    func revision() async throws -> Int64 { try await journal.read(Self.last) }

    private static func last(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT last FROM noticesRevision")) ?? 0
    }

    /// Merges the server's settings, where none was changed here since the request and none waits
    /// to be sent.
    ///
    /// - Parameters:
    ///   - server: all mutes and quiet hours that apply to this device.
    ///   - revision: of the settings before the request.
    /// - Throws: what the journal throws.
    func readBack(_ server: [SettingTarget: SettingValue], asOf revision: Int64) async throws {
        try await journal.write { db in
            var old: [String: (value: SettingValue?, isOurs: Bool)] = [:]
            let rows = try Row.fetchAll(
                db, sql: "SELECT target, value, state, entry, revision FROM noticesSetting")
            for row in rows {
                guard let target = try? row.checked("target") as String else { continue }
                // What cannot be read is the server's to say, unless an entry waits to be sent.
                let entry = try? row.checked("entry") as String?
                let assumed: State = entry == nil ? .told : .waits
                let state = (try? row.checked("state") as Int) ?? assumed.rawValue
                let changed = (try? row.checked("revision") as Int64) ?? 0
                let bytes = try? row.checked("value") as Data
                old[target] = (
                    bytes.flatMap { try? SettingValue.read($0) },
                    state != State.told.rawValue || changed > revision
                )
            }
            let next = try Self.next(db)
            for (target, value) in server.prefix(2 * NoticeLimits.mutes) {
                let before = old.removeValue(forKey: target.text)
                guard before?.isOurs != true else { continue }
                guard value != before?.value else { continue }
                try db.execute(
                    sql: """
                        INSERT INTO noticesSetting VALUES (?, ?, 0, NULL, NULL, ?)
                        ON CONFLICT DO UPDATE SET value = excluded.value, state = excluded.state,
                        entry = NULL, reason = NULL, revision = excluded.revision
                        """, arguments: [target.text, try value.bytes, next])
            }
            // One that the server lacks was removed on another device, or has expired.
            for (target, row) in old where !row.isOurs && target != SettingTarget.push.text {
                try db.execute(
                    sql: "DELETE FROM noticesSetting WHERE target = ?", arguments: [target])
            }
        }
    }

    /// The push registration, if it was sent and the server should have it.
    func registration() async throws -> SettingValue? {
        try await journal.read { db in
            try Data.fetchOne(
                db, sql: "SELECT value FROM noticesSetting WHERE target = 'push' AND state = 0"
            ).flatMap { try? SettingValue.read($0) }
        }
    }

    /// Removes the push registration: the person signs out.
    func forgetRegistration() async throws {
        try await journal.write { [journal] db in
            let entry = try String.fetchOne(
                db, sql: "SELECT entry FROM noticesSetting WHERE target = 'push'")
            if let entry, let id = try? EntryID(entry) {
                _ = try journal.end(id, as: .superseded, reason: "Signed out.", in: db)
            }
            try db.execute(sql: "DELETE FROM noticesSetting WHERE target = 'push'")
            _ = try Self.next(db)
        }
    }

    // MARK: Reading

    /// The settings and their revision.
    func settings() async throws -> (NoticeSettings, Int64) {
        try await journal.read { db in (try Self.settings(nil, db), try Self.last(db)) }
    }

    /// The same of one target.
    func settings(of target: SettingTarget) async throws -> (NoticeSettings, Int64) {
        try await journal.read { db in (try Self.settings(target.text, db), try Self.last(db)) }
    }

    private static func settings(_ target: String?, _ db: Database) throws -> NoticeSettings {
        var settings = NoticeSettings()
        let one = target == nil ? "" : " AND target = ?"
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT target, value, state, reason FROM noticesSetting
                    WHERE value IS NOT NULL\(one)
                    """), arguments: target.map { [$0] } ?? [])
        while let row = try rows.next() {
            // An unreadable row counts as not set.
            guard let name = try? row.text(0), let target = SettingTarget(name),
                let bytes = try? row.checked(1) as Data, let value = try? SettingValue.read(bytes)
            else { continue }
            let (state, reason) = (try? row.checked(2) as Int, try? row.text(3))
            settings.take(target, value, status(state, reason))
        }
        return settings
    }

    private static func status(_ state: Int?, _ reason: String?) -> NoticeSettings.Status {
        switch state.flatMap(State.init(rawValue:)) {
        case .told: .told
        case .refused: .refused(reason ?? "")
        case .waits, nil: .waits
        }
    }

    private static func next(_ db: Database) throws -> Int64 {
        try db.execute(sql: "UPDATE noticesRevision SET last = last + 1")
        return try last(db)
    }
}

extension NoticeSettings {
    /// Copies one target's value from another, or removes it.
    mutating func replace(_ target: SettingTarget, from other: NoticeSettings) {
        switch target {
        case .channel(let name): channels[name] = other.channels[name]
        case .person(let user): people[user] = other.people[user]
        case .quiet: quiet = other.quiet
        case .deviceQuiet: deviceQuiet = other.deviceQuiet
        case .push: push = other.push
        case .elsewhere: silentElsewhere = other.silentElsewhere
        }
    }

    /// Whether decisions are equal, apart from the server's state.
    func decides(as other: NoticeSettings) -> Bool {
        (deviceQuiet ?? quiet)?.hours == (other.deviceQuiet ?? other.quiet)?.hours
            && channels.mapValues(\.state) == other.channels.mapValues(\.state)
            && people.mapValues(\.state) == other.people.mapValues(\.state)
            && (silentElsewhere == nil) == (other.silentElsewhere == nil)
    }

    fileprivate mutating func take(
        _ target: SettingTarget, _ value: SettingValue, _ status: Status
    ) {
        switch (target, value) {
        case (.channel(let name), .mute(let until, let exceptMentions)):
            channels[name] = Mute(
                until: until.map { WallTime(milliseconds: $0) }, exceptMentions: exceptMentions,
                status: status)
        case (.person(let user), .mute(let until, let exceptMentions)):
            people[user] = Mute(
                until: until.map { WallTime(milliseconds: $0) }, exceptMentions: exceptMentions,
                status: status)
        case (.quiet, .quiet(let from, let to, let zone)):
            quiet = (try? QuietHours(from: from, to: to, zone: zone)).map {
                Quiet(hours: $0, status: status)
            }
        case (.deviceQuiet, .quiet(let from, let to, let zone)):
            deviceQuiet = (try? QuietHours(from: from, to: to, zone: zone)).map {
                Quiet(hours: $0, status: status)
            }
        case (.push, .push): push = status
        case (.elsewhere, .silent): silentElsewhere = status
        case (.channel, _), (.person, _), (.quiet, _), (.deviceQuiet, _), (.push, _),
            (.elsewhere, _):
            break
        }
    }
}
