import GRDB
import RepriseCore
package import RepriseWire

/// Sets whether a user's pushes make no sound while he is active on another device.
///
/// Only then it is noted which of the user's devices reads: see ``MovePosition``.
package struct SetSilentElsewhere: JournaledCommand {
    package static let tag: UInt8 = 31
    package var isSilent: Bool
    package var user: UserID

    package init(_ isSilent: Bool, of user: UserID) {
        (self.isSilent, self.user) = (isSilent, user)
    }

    package func apply(in view: AccountsView) throws {
        guard isSilent else {
            for table in ["silent_users", "active_devices"] {
                try view.db.execute(
                    sql: "DELETE FROM \(table) WHERE user = ?", arguments: [user.text])
            }
            return
        }
        try view.db.execute(
            sql: "INSERT OR REPLACE INTO silent_users (user) VALUES (?)", arguments: [user.text])
    }

    package func write(to writer: inout BinaryWriter) {
        writer.write(user.text)
        writer.write(isSilent)
    }

    package init(from reader: inout BinaryReader) throws {
        user = try UserID(reader.text())
        isSilent = try reader.bool()
    }
}

extension AccountsView {
    /// The user has read on a device.
    func noteActivity(of user: UserID, on device: EntryID) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO active_devices (user, device, time)
                SELECT user, ?, ? FROM silent_users WHERE user = ?
                ON CONFLICT DO UPDATE SET time = excluded.time
                """
        ).execute(arguments: [device.text, time.milliseconds, user.text])
        guard db.changesCount > 0 else { return }
        let start = time.advanced(by: .zero - PushPayloadLimits.activeElsewhere)
        try db.cachedStatement(sql: "DELETE FROM active_devices WHERE user = ? AND time <= ?")
            .execute(arguments: [user.text, start.milliseconds])
    }
}
