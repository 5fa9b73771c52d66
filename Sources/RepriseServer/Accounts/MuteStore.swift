import GRDB
package import RepriseCore
package import RepriseWire

/// Mutes and quiet hours: the same on all devices, because the server keeps them.
package final class MuteStore: Sendable {
    private let database: AccountsDatabase

    init(_ database: AccountsDatabase) { self.database = database }

    /// The current mutes of a user.
    package func all(of user: UserID, at time: WallTime) async throws -> [Mute] {
        try await database.read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT kind, name, until FROM mutes
                    WHERE user = ? AND (until IS NULL OR until > ?) ORDER BY kind, name
                    """, arguments: [user.text, time.milliseconds]
            ).map(Mute.init(row:))
        }
    }

    /// Adds a mute, or changes its end.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.full` at ``PushLimits/mutes``.
    package func set(_ mute: Mute, of user: UserID, at time: WallTime) async throws {
        let (kind, name) = mute.subject.columns
        try await database.write { db in
            try db.execute(
                sql: "DELETE FROM mutes WHERE user = ? AND until <= ?",
                arguments: [user.text, time.milliseconds])
            let others = try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM mutes WHERE user = ? AND NOT (kind = ? AND name = ?)",
                arguments: [user.text, kind, name])
            guard (others ?? 0) < PushLimits.mutes else {
                throw RepriseError(.full, "A user has at most \(PushLimits.mutes) mutes.")
            }
            try db.execute(
                sql: """
                    INSERT INTO mutes (user, kind, name, until) VALUES (?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET until = excluded.until
                    """, arguments: [user.text, kind, name, mute.until?.milliseconds])
        }
    }

    /// Ends a mute; a missing one is ignored.
    package func remove(_ subject: Mute.Subject, of user: UserID) async throws {
        let (kind, name) = subject.columns
        try await database.write { db in
            try db.execute(
                sql: "DELETE FROM mutes WHERE user = ? AND kind = ? AND name = ?",
                arguments: [user.text, kind, name])
        }
    }

    /// The quiet hours of a user: a device's own, and those without a device for all other devices.
    package func quietHours(
        of user: UserID
    ) async throws -> [(device: EntryID?, hours: QuietHours)] {
        try await database.read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM quiet_hours WHERE user = ? ORDER BY device",
                arguments: [user.text]
            ).map { row in
                let device: String = row["device"]
                return (
                    device.isEmpty ? nil : try EntryID(device),
                    try QuietHours(
                        start: row["start_minute"], end: row["end_minute"], zone: row["zone"])
                )
            }
        }
    }

    /// Sets quiet hours of a user, or of one registered device; nil ends them.
    ///
    /// - Returns: whether the device exists.
    /// - Throws: ``RepriseCore/RepriseError``.
    @discardableResult
    package func setQuietHours(
        _ hours: QuietHours?, of user: UserID, on device: EntryID? = nil
    ) async throws -> Bool {
        try await database.write { db in
            guard let hours else {
                try db.execute(
                    sql: "DELETE FROM quiet_hours WHERE user = ? AND device = ?",
                    arguments: [user.text, device?.text ?? ""])
                return true
            }
            if let device {
                let isThere = try Bool.fetchOne(
                    db, sql: "SELECT EXISTS (SELECT 1 FROM devices WHERE user = ? AND id = ?)",
                    arguments: [user.text, device.text])
                guard isThere == true else { return false }
            }
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO quiet_hours (user, device, start_minute, end_minute, zone)
                    VALUES (?, ?, ?, ?, ?)
                    """,
                arguments: [user.text, device?.text ?? "", hours.start, hours.end, hours.zone])
            return true
        }
    }
}
