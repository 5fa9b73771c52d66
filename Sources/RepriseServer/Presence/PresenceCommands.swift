import GRDB
package import RepriseCore
package import RepriseWire

/// Hides a user's presence from all others, or shows it again.
package struct SetPresence: JournaledCommand {
    package static let tag: UInt8 = 32
    package var isHidden: Bool
    package var user: UserID

    package init(isHidden: Bool, of user: UserID) {
        (self.isHidden, self.user) = (isHidden, user)
    }

    /// A user who hides was never seen, also after he shows himself again.
    package func apply(in view: AccountsView) throws {
        if isHidden {
            try view.db.execute(
                sql: "INSERT OR REPLACE INTO presence (user, hidden, seen) VALUES (?, 1, NULL)",
                arguments: [user.text])
        } else {
            try view.db.execute(
                sql: "DELETE FROM presence WHERE user = ? AND hidden", arguments: [user.text])
        }
    }

    package func effects(of outcome: Void) -> AccountEffects {
        AccountEffects(hiding: .init(user: user, isHidden: isHidden))
    }

    package func write(to writer: inout BinaryWriter) {
        writer.write(user.text)
        writer.write(isHidden)
    }

    package init(from reader: inout BinaryReader) throws {
        user = try UserID(reader.text())
        isHidden = try reader.bool()
    }
}

/// Notes when users were seen last, by the clock of who saw them; of who hides nothing.
package struct NoteSeen: JournaledCommand {
    package static let tag: UInt8 = 33
    /// The most users of one command.
    package static let users = 500

    package var seen: [UserID: WallTime]

    package init(_ seen: [UserID: WallTime]) { self.seen = seen }

    /// Nobody was seen later than it is now: a clock that is fast would else hide what comes after.
    package func apply(in view: AccountsView) throws {
        let insert = try view.db.cachedStatement(
            sql: """
                INSERT INTO presence (user, hidden, seen) VALUES (?, 0, ?)
                ON CONFLICT DO UPDATE SET seen = excluded.seen
                WHERE NOT hidden AND (seen IS NULL OR seen < excluded.seen)
                """)
        for (user, time) in seen.sorted(by: { $0.key < $1.key }) {
            try insert.execute(arguments: [user.text, min(time, view.time).milliseconds])
        }
    }

    /// In the order of the users.
    package func write(to writer: inout BinaryWriter) {
        writer.write(Int64(seen.count))
        for (user, time) in seen.sorted(by: { $0.key < $1.key }) {
            writer.write(user.text)
            writer.write(time)
        }
    }

    package init(from reader: inout BinaryReader) throws {
        let all = try reader.list { reader in
            (user: try UserID(reader.text()), time: try reader.time())
        }
        guard all.count <= Self.users,
            zip(all, all.dropFirst()).allSatisfy({ $0.user < $1.user })
        else { throw RepriseError(.malformed, "Users who were seen stand in their order.") }
        seen = Dictionary(uniqueKeysWithValues: all.map { ($0.user, $0.time) })
    }
}
