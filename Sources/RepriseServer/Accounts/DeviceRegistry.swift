import Foundation
import GRDB
package import RepriseCore
package import RepriseWire

/// The users' devices, with their push addresses.
package final class DeviceRegistry: Sendable {
    private let database: AccountsDatabase

    init(_ database: AccountsDatabase) { self.database = database }

    /// The devices of a user, most recently seen first.
    package func all(of user: UserID) async throws -> [RegisteredDevice] {
        try await database.read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM devices WHERE user = ? ORDER BY seen DESC, id",
                arguments: [user.text]
            ).map(RegisteredDevice.init(row:))
        }
    }

    /// A device's delivered position in a channel; 0 if unknown.
    package func delivered(
        to device: EntryID, of user: UserID, in channel: ChannelName
    ) async throws -> Int64 {
        try await database.read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT delivered FROM device_positions
                    WHERE user = ? AND device = ? AND channel = ?
                    """, arguments: [user.text, device.text, channel.text]) ?? 0
        }
    }
}

extension RegisteredDevice {
    fileprivate init(row: Row) throws {
        let token: String? = try row.checked("push_token")
        self.init(
            id: try EntryID(row.checked("id")), platform: try row.checked("platform"),
            pushToken: try token.map { try PushToken($0) },
            subscription: try WebPushSubscription(row: row),
            lastSeen: WallTime(milliseconds: try row.checked("seen")))
    }
}
