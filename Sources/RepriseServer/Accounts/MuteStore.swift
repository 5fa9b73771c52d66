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
                    SELECT kind, name, until, excepted
                    FROM mutes LEFT JOIN mute_mentions USING (user, kind, name)
                    WHERE user = ? AND (until IS NULL OR until > ?) ORDER BY kind, name
                    """, arguments: [user.text, time.milliseconds]
            ).map(Mute.init(row:))
        }
    }

    /// Whether a user's pushes make no sound while he is active on another device.
    package func isSilentElsewhere(_ user: UserID) async throws -> Bool {
        try await database.read { db in
            try Bool.fetchOne(
                db, sql: "SELECT EXISTS (SELECT 1 FROM silent_users WHERE user = ?)",
                arguments: [user.text]) ?? false
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
                let device: String = try row.checked("device")
                return (
                    device.isEmpty ? nil : try EntryID(device),
                    QuietHours(
                        unchecked: try row.checked("start_minute"),
                        to: try row.checked("end_minute"), zone: try row.checked("zone"))
                )
            }
        }
    }
}
