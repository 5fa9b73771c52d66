import RepriseCore
package import RepriseWire

/// What a gateway asks and tells the others of presence: beside the journal, since it may be lost.
package struct PresenceNews: Hashable, Sendable {
    /// A user whom somebody at the asking gateway watches.
    package struct Asked: Hashable, Sendable {
        package var user: UserID
        /// Whether an answer is wanted soon, and not only with the next change.
        package var isNew: Bool

        package init(_ user: UserID, isNew: Bool) { (self.user, self.isNew) = (user, isNew) }
    }

    /// A user, by the connections that the telling gateway has of him.
    package struct Told: Hashable, Sendable {
        package var user: UserID
        package var state: PresenceState

        package init(_ user: UserID, _ state: PresenceState) {
            (self.user, self.state) = (user, state)
        }
    }

    /// The most users of one message, asked and told.
    package static let users = 1_000
    private static let format: UInt8 = 1
    /// In the order of their numbers.
    private static let states: [PresenceState] = [.offline, .idle, .online]

    /// The gateway's random number.
    package var sender: Int64
    package var asked: [Asked]
    package var told: [Told]

    package init(from sender: Int64, asked: [Asked] = [], told: [Told] = []) {
        (self.sender, self.asked, self.told) = (sender, asked, told)
    }

    package var bytes: [UInt8] {
        var writer = BinaryWriter()
        writer.write(Self.format)
        writer.write(sender)
        writer.write(Int64(asked.count))
        for one in asked {
            writer.write(one.user.text)
            writer.write(one.isNew)
        }
        writer.write(Int64(told.count))
        for one in told {
            writer.write(one.user.text)
            writer.write(UInt8(Self.states.firstIndex(of: one.state) ?? 0))
        }
        return writer.bytes
    }

    /// Nil for what this version does not know.
    package init?(_ bytes: [UInt8]) {
        do {
            var reader = BinaryReader(bytes)
            guard try reader.byte() == Self.format else { return nil }
            sender = try reader.integer()
            asked = try reader.list { reader in
                Asked(try UserID(reader.text()), isNew: try reader.bool())
            }
            told = try reader.list { reader in
                let user = try UserID(reader.text())
                let number = Int(try reader.byte())
                guard Self.states.indices.contains(number) else {
                    throw ClusterEntry.unknown("a presence \(number)")
                }
                return Told(user, Self.states[number])
            }
            try reader.expectEnd()
            guard asked.count + told.count <= Self.users else { return nil }
        } catch {
            return nil
        }
    }
}
