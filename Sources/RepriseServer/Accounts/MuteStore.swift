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
                    QuietHours(
                        unchecked: row["start_minute"], to: row["end_minute"], zone: row["zone"])
                )
            }
        }
    }
}
