import Foundation
import GRDB
package import RepriseCore
package import RepriseWire

/// Registers a device, or changes it; a push address belongs to the last device that registered it.
///
/// Beyond ``AccountLimits/devices`` the least recently seen one is removed.
package struct SetDevice: AccountCommand {
    package var id: EntryID
    package var user: UserID
    package var platform: String?
    package var pushToken: PushToken?
    package var subscription: WebPushSubscription?

    package init(
        _ id: EntryID, of user: UserID, platform: String?, pushToken: PushToken? = nil,
        subscription: WebPushSubscription? = nil
    ) {
        self.id = id
        self.user = user
        self.platform = platform
        self.pushToken = pushToken
        self.subscription = subscription
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.tooLarge` beyond ``AccountLimits/platformBytes``,
    ///   `.malformed`.
    package func validate() throws {
        guard (platform?.utf8.count ?? 0) <= AccountLimits.platformBytes else {
            throw RepriseError(
                .tooLarge, "A platform has at most \(AccountLimits.platformBytes) bytes.")
        }
        guard !(platform?.utf8.contains(0) ?? false) else {
            throw RepriseError(.malformed, "A platform has a character U+0000.")
        }
    }

    /// - Returns: the device as it is now.
    package func apply(in view: AccountsView) throws -> RegisteredDevice {
        try RegisteredDevice.makeRoom(for: id, of: user, view.db)
        // A user who signs in on another's phone takes over its token: the former user's messages
        // must not be shown there.
        if let pushToken {
            try view.db.execute(
                sql: "UPDATE devices SET push_token = NULL WHERE push_token = ?",
                arguments: [pushToken.text])
        }
        if let subscription {
            try view.db.execute(
                sql: """
                    UPDATE devices SET web_endpoint = NULL, web_key = NULL, web_secret = NULL
                    WHERE web_endpoint = ?
                    """, arguments: [subscription.endpoint])
        }
        let time = view.time.milliseconds
        try view.db.execute(
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
                user.text, id.text, platform, pushToken?.text, time, subscription?.endpoint,
                (subscription?.key).map { Data($0) }, (subscription?.secret).map { Data($0) }, time,
            ])
        return RegisteredDevice(
            id: id, platform: platform, pushToken: pushToken, subscription: subscription,
            lastSeen: view.time)
    }
}

/// Removes a device and its positions.
package struct RemoveDevice: AccountCommand {
    package var id: EntryID
    package var user: UserID

    package init(_ id: EntryID, of user: UserID) { (self.id, self.user) = (id, user) }

    /// - Returns: whether it existed.
    package func apply(in view: AccountsView) throws -> Bool {
        try RegisteredDevice.remove(id.text, of: user, view.db)
    }
}

/// A device has connected: it is registered from now on, with or without a push address.
package struct SawDevice: AccountCommand {
    package var id: EntryID
    package var user: UserID

    package init(_ id: EntryID, of user: UserID) { (self.id, self.user) = (id, user) }

    package func apply(in view: AccountsView) throws {
        try RegisteredDevice.makeRoom(for: id, of: user, view.db)
        try view.db.cachedStatement(
            sql: """
                INSERT INTO devices (user, id, seen) VALUES (?, ?, ?)
                ON CONFLICT DO UPDATE SET seen = excluded.seen WHERE excluded.seen > seen
                """
        ).execute(arguments: [user.text, id.text, view.time.milliseconds])
    }
}

extension RegisteredDevice {
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

    fileprivate static func makeRoom(for id: EntryID, of user: UserID, _ db: Database) throws {
        let others = try String.fetchAll(
            db, sql: "SELECT id FROM devices WHERE user = ? AND id <> ? ORDER BY seen DESC, id",
            arguments: [user.text, id.text])
        for id in others.dropFirst(AccountLimits.devices - 1) {
            try remove(id, of: user, db)
        }
    }

    @discardableResult
    fileprivate static func remove(_ id: String, of user: UserID, _ db: Database) throws -> Bool {
        for table in ["device_positions", "quiet_hours"] {
            try db.execute(
                sql: "DELETE FROM \(table) WHERE user = ? AND device = ?",
                arguments: [user.text, id])
        }
        try db.execute(
            sql: "DELETE FROM devices WHERE user = ? AND id = ?", arguments: [user.text, id])
        return db.changesCount > 0
    }
}
