import GRDB
import RepriseCore
package import RepriseWire

/// Archives a channel for one of its members, or takes it back: a note for the user's lists.
package struct SetArchived: JournaledCommand {
    package static let tag: UInt8 = 30
    package var channel: ChannelName
    package var user: UserID
    package var isArchived: Bool

    package init(_ channel: ChannelName, _ isArchived: Bool = true, of user: UserID) {
        (self.channel, self.isArchived, self.user) = (channel, isArchived, user)
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.refused` if the user is no member.
    package func apply(in view: AccountsView) throws {
        guard isArchived else {
            try Self.remove(user, channel, view.db)
            return try view.tell(user, of: channel)
        }
        guard try Member.fetch(user, of: channel, view.db) != nil else {
            throw RepriseError(.refused, "Only a member archives a channel.")
        }
        try view.db.execute(
            sql: "INSERT OR REPLACE INTO archived (user, channel, time) VALUES (?, ?, ?)",
            arguments: [user.text, channel.text, view.time.milliseconds])
        try view.tell(user, of: channel)
    }

    package func effects(of outcome: Void) -> AccountEffects { AccountEffects(isTold: true) }

    /// Forgets that the user has archived it.
    static func remove(_ user: UserID, _ channel: ChannelName, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM archived WHERE user = ? AND channel = ?",
            arguments: [user.text, channel.text])
    }

    package func write(to writer: inout BinaryWriter) {
        writer.write(channel.text)
        writer.write(user.text)
        writer.write(isArchived)
    }

    package init(from reader: inout BinaryReader) throws {
        channel = try ChannelName(reader.text())
        user = try UserID(reader.text())
        isArchived = try reader.bool()
    }
}
