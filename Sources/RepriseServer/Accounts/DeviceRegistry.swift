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

    /// Registers a device, or changes it; a push token belongs to the last device that registered
    /// it.
    ///
    /// Beyond ``AccountLimits/devices`` the least recently seen one is removed.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge` beyond ``AccountLimits/platformBytes``,
    ///   `.malformed`.
    package func set(_ device: RegisteredDevice, of user: UserID) async throws {
        guard (device.platform?.utf8.count ?? 0) <= AccountLimits.platformBytes else {
            throw RepriseError(
                .tooLarge, "A platform has at most \(AccountLimits.platformBytes) bytes.")
        }
        guard !(device.platform?.utf8.contains(0) ?? false) else {
            throw RepriseError(.malformed, "A platform has a character U+0000.")
        }
        try await database.write { db in
            try Self.makeRoom(for: device.id, of: user, db)
            // A user who signs in on another's phone takes over its token: the former user's
            // messages must not be shown there.
            if let token = device.pushToken {
                try db.execute(
                    sql: "UPDATE devices SET push_token = NULL WHERE push_token = ?",
                    arguments: [token.text])
            }
            if let subscription = device.subscription {
                try db.execute(
                    sql: """
                        UPDATE devices SET web_endpoint = NULL, web_key = NULL, web_secret = NULL
                        WHERE web_endpoint = ?
                        """, arguments: [subscription.endpoint])
            }
            try db.execute(
                sql: """
                    INSERT INTO devices (user, id, platform, push_token, push_since,
                    web_endpoint, web_key, web_secret, seen)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                    platform = excluded.platform, push_token = excluded.push_token,
                    push_since = excluded.push_since, web_endpoint = excluded.web_endpoint,
                    web_key = excluded.web_key, web_secret = excluded.web_secret,
                    seen = max(seen, excluded.seen)
                    """,
                arguments: [
                    user.text, device.id.text, device.platform, device.pushToken?.text,
                    device.lastSeen.milliseconds, device.subscription?.endpoint,
                    (device.subscription?.key).map { Data($0) },
                    (device.subscription?.secret).map { Data($0) },
                    device.lastSeen.milliseconds,
                ])
        }
    }

    /// Removes a device and its positions.
    ///
    /// - Returns: whether it existed.
    /// - Throws: ``RepriseCore/RepriseError``.
    @discardableResult
    package func remove(_ id: EntryID, of user: UserID) async throws -> Bool {
        try await database.write { try Self.remove(id.text, of: user, $0) }
    }

    /// A device has connected: it is registered from now on, with or without a push token.
    package func saw(_ id: EntryID, of user: UserID, at time: WallTime) async throws {
        try await database.write { db in
            try Self.makeRoom(for: id, of: user, db)
            try db.cachedStatement(
                sql: """
                    INSERT INTO devices (user, id, seen) VALUES (?, ?, ?)
                    ON CONFLICT DO UPDATE SET seen = excluded.seen WHERE excluded.seen > seen
                    """
            ).execute(arguments: [user.text, id.text, time.milliseconds])
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

    /// Removes an address that its service calls invalid, unless the device has registered it again
    /// since.
    static func removeAddress(
        _ address: PushAddress, of user: UserID, on device: EntryID, since: WallTime?,
        _ db: Database
    ) throws {
        switch address {
        case .apns(let token):
            try db.execute(
                sql: """
                    UPDATE devices SET push_token = NULL
                    WHERE user = ? AND id = ? AND push_token = ? AND push_since <= ?
                    """,
                arguments: [user.text, device.text, token.text, since?.milliseconds ?? .max])
        case .webPush(let subscription):
            try db.execute(
                sql: """
                    UPDATE devices SET web_endpoint = NULL, web_key = NULL, web_secret = NULL
                    WHERE user = ? AND id = ? AND web_endpoint = ?
                    """, arguments: [user.text, device.text, subscription.endpoint])
        }
    }

    private static func makeRoom(
        for id: EntryID, of user: UserID, _ db: Database
    ) throws {
        let others = try String.fetchAll(
            db, sql: "SELECT id FROM devices WHERE user = ? AND id <> ? ORDER BY seen DESC, id",
            arguments: [user.text, id.text])
        for id in others.dropFirst(AccountLimits.devices - 1) {
            try remove(id, of: user, db)
        }
    }

    @discardableResult
    private static func remove(
        _ id: String, of user: UserID, _ db: Database
    ) throws -> Bool {
        try db.execute(
            sql: "DELETE FROM device_positions WHERE user = ? AND device = ?",
            arguments: [user.text, id])
        try db.execute(
            sql: "DELETE FROM quiet_hours WHERE user = ? AND device = ?",
            arguments: [user.text, id])
        try db.execute(
            sql: "DELETE FROM devices WHERE user = ? AND id = ?", arguments: [user.text, id])
        return db.changesCount > 0
    }
}

extension RegisteredDevice {
    fileprivate init(row: Row) throws {
        let token: String? = row["push_token"]
        self.init(
            id: try EntryID(row["id"]), platform: row["platform"],
            pushToken: try token.map { try PushToken($0) },
            subscription: WebPushSubscription(row: row),
            lastSeen: WallTime(milliseconds: row["seen"]))
    }
}
