import GRDB
import RepriseCore
package import RepriseWire

/// Sets what a user is called; those who share a channel with him are told.
package struct SetProfile: AccountCommand {
    package var profile: Profile
    package var user: UserID

    package init(_ profile: Profile, of user: UserID) {
        (self.profile, self.user) = (profile, user)
    }

    package func validate() throws { try profile.validate() }

    /// - Returns: whether it is another than before.
    package func apply(in view: AccountsView) throws -> Bool {
        guard try Profile.fetch(user, view.db) ?? Profile() != profile else { return false }
        if profile == Profile() {
            try view.db.execute(
                sql: "DELETE FROM profiles WHERE user = ?", arguments: [user.text])
        } else {
            try view.db.execute(
                sql: "INSERT OR REPLACE INTO profiles (user, name, picture) VALUES (?, ?, ?)",
                arguments: [user.text, profile.name, profile.picture])
        }
        try view.tellFellows(of: user)
        return true
    }

    package func effects(of isNew: Bool) -> AccountEffects {
        var effects = AccountEffects()
        effects.isTold = isNew
        return effects
    }
}

extension SetProfile: JournaledCommand {
    package static let tag: UInt8 = 27

    package func write(to writer: inout BinaryWriter) {
        writer.write(user.text)
        writer.write(profile.name) { $0.write($1) }
        writer.write(profile.picture) { $0.write($1) }
    }

    package init(from reader: inout BinaryReader) throws {
        let user = try UserID(reader.text())
        self.init(
            Profile(
                name: try reader.optional { try $0.text() },
                picture: try reader.optional { try $0.text() }), of: user)
    }
}

extension Profile {
    static func fetch(_ user: UserID, _ db: Database) throws -> Profile? {
        let select = try db.cachedStatement(
            sql: "SELECT name, picture FROM profiles WHERE user = ?")
        return try Row.fetchOne(select, arguments: [user.text])
            .map { Profile(name: try $0.checked("name"), picture: try $0.checked("picture")) }
    }
}
