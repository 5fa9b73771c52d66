import GRDB
import RepriseCore
package import RepriseWire

/// Notes what directories have told; newer changes of the same channels stay.
package struct NoteTold: JournaledCommand {
    package static let tag: UInt8 = 28
    /// The changes' numbers.
    package var numbers: [Int64]
    /// The users whose directories were told.
    package var users: [UserID]

    package init(_ numbers: [Int64], of users: Set<UserID> = []) {
        self.numbers = numbers
        self.users = users.sorted { $0.text < $1.text }
    }

    package func apply(in view: AccountsView) throws {
        let delete = try view.db.cachedStatement(sql: "DELETE FROM directory_changes WHERE n = ?")
        for number in numbers { try delete.execute(arguments: [number]) }
        let insert = try view.db.cachedStatement(
            sql: "INSERT OR IGNORE INTO directories (user) VALUES (?)")
        for user in users { try insert.execute(arguments: [user.text]) }
    }

    package func write(to writer: inout BinaryWriter) {
        writer.write(Int64(numbers.count))
        for number in numbers { writer.write(number) }
        writer.write(Int64(users.count))
        for user in users { writer.write(user.text) }
    }

    package init(from reader: inout BinaryReader) throws {
        numbers = try reader.list { try $0.integer() }
        users = try reader.list { try UserID($0.text()) }
    }
}

/// Has all of a user's conversations told.
package struct TellAnew: JournaledCommand {
    package static let tag: UInt8 = 29
    package var user: UserID

    package init(_ user: UserID) { self.user = user }

    package func apply(in view: AccountsView) throws {
        try view.db.execute(
            sql: "INSERT OR REPLACE INTO directory_changes (user, channel) VALUES (?, '')",
            arguments: [user.text])
    }

    package func write(to writer: inout BinaryWriter) { writer.write(user.text) }

    package init(from reader: inout BinaryReader) throws { user = try UserID(reader.text()) }
}
