import GRDB
package import RepriseCore
package import RepriseWire

/// What the gateway that pushes has done, so that another one can go on: what was pushed, which
/// addresses are invalid, and how far it is done with channels.
///
/// Its queue is its own, and is made anew from this by the next one: what is behind the progress
/// of a channel may be pushed again, unless it is marked here.
package struct PushProgress: Hashable, Sendable {
    package struct Mark: Hashable, Sendable {
        package var user: UserID
        package var device: EntryID
        package var channel: ChannelName
        /// The message.
        package var seq: Int64

        package init(user: UserID, device: EntryID, channel: ChannelName, seq: Int64) {
            self.user = user
            self.device = device
            self.channel = channel
            self.seq = seq
        }
    }

    package struct InvalidAddress: Hashable, Sendable {
        package var user: UserID
        package var device: EntryID
        /// The token, or the endpoint.
        package var text: String
        /// When the service says that it became so; nil if it does not say.
        package var since: WallTime?

        package init(user: UserID, device: EntryID, text: String, since: WallTime?) {
            self.user = user
            self.device = device
            self.text = text
            self.since = since
        }
    }

    package struct Done: Hashable, Sendable {
        package var channel: ChannelName
        /// The message up to which nothing waits.
        package var through: Int64

        package init(channel: ChannelName, through: Int64) {
            self.channel = channel
            self.through = through
        }
    }

    package var service: PushService
    /// Of the service's lease.
    package var grant: Int64
    package var marks: [Mark] = []
    package var invalid: [InvalidAddress] = []
    package var done: [Done] = []

    package init(_ service: PushService, by grant: Int64) {
        (self.service, self.grant) = (service, grant)
    }

    package var isEmpty: Bool { marks.isEmpty && invalid.isEmpty && done.isEmpty }

    // MARK: Bytes

    func write(to writer: inout BinaryWriter) {
        writer.write(service.role.rawValue)
        writer.write(grant)
        writer.write(Int64(marks.count))
        for mark in marks {
            writer.write(mark.user.text)
            writer.write(mark.device.text)
            writer.write(mark.channel.text)
            writer.write(mark.seq)
        }
        writer.write(Int64(invalid.count))
        for address in invalid {
            writer.write(address.user.text)
            writer.write(address.device.text)
            writer.write(address.text)
            writer.write(address.since) { $0.write($1) }
        }
        writer.write(Int64(done.count))
        for one in done {
            writer.write(one.channel.text)
            writer.write(one.through)
        }
    }

    init(from reader: inout BinaryReader) throws {
        service = try PushService(from: &reader)
        grant = try reader.integer()
        marks = try reader.list {
            Mark(
                user: try UserID($0.text()), device: try EntryID($0.text()),
                channel: try ChannelName($0.text()), seq: try $0.integer())
        }
        invalid = try reader.list {
            InvalidAddress(
                user: try UserID($0.text()), device: try EntryID($0.text()),
                text: try $0.text(), since: try $0.optional { try $0.time() })
        }
        done = try reader.list {
            Done(channel: try ChannelName($0.text()), through: try $0.integer())
        }
        if service == .apns {
            for address in invalid { _ = try PushToken(address.text) }
        }
    }

    // MARK: Applying

    /// Writes it, in the open transaction of a view.
    func apply(_ db: Database) throws {
        let newest = try db.cachedStatement(sql: PushSettlement.noteSQL)
        let mark = try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO pushed_messages (service, channel, seq, user, device)
                VALUES (?, ?, ?, ?, ?)
                """)
        for one in marks {
            let (channel, user, device) = (one.channel.text, one.user.text, one.device.text)
            try newest.execute(arguments: [channel, one.seq, user, device])
            try mark.execute(arguments: [service.rawValue, channel, one.seq, user, device])
        }
        for one in invalid {
            try RegisteredDevice.removeAddress(
                one.address(service), of: one.user, on: one.device, since: one.since, db)
        }
        let save = try db.cachedStatement(
            sql: """
                INSERT INTO pushed_channels (service, channel, through) VALUES (?, ?, ?)
                ON CONFLICT DO UPDATE SET through = max(through, excluded.through)
                """)
        let forget = try db.cachedStatement(
            sql: "DELETE FROM pushed_messages WHERE service = ? AND channel = ? AND seq <= ?")
        for one in done {
            try save.execute(arguments: [service.rawValue, one.channel.text, one.through])
            try forget.execute(arguments: [service.rawValue, one.channel.text, one.through])
        }
    }

    /// What a gateway that begins to push finds of a channel, without a grant.
    static func found(
        _ service: PushService, in channel: ChannelName, _ db: Database
    ) throws -> PushProgress {
        let place: StatementArguments = [service.rawValue, channel.text]
        let through = try Int64.fetchOne(
            db, sql: "SELECT through FROM pushed_channels WHERE service = ? AND channel = ?",
            arguments: place)
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT user, device, seq FROM pushed_messages WHERE service = ? AND channel = ?
                ORDER BY seq, user, device
                """, arguments: place)
        var found = PushProgress(service, by: 0)
        found.done = [Done(channel: channel, through: through ?? 0)]
        for row in rows {
            found.marks.append(
                Mark(
                    user: try UserID(row.checked(0)), device: try EntryID(row.checked(1)),
                    channel: channel, seq: try row.checked(2)))
        }
        return found
    }

    /// Notes where a service begins: at the channels' heads, unless it has begun before.
    static func begin(_ service: PushService, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO pushed_services (service) VALUES (?)",
            arguments: [service.rawValue])
        guard db.changesCount > 0 else { return }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO pushed_channels (service, channel, through)
                SELECT ?, c.name, h.head FROM channels c JOIN heads h ON h.name = c.name
                WHERE c.members > 0
                """, arguments: [service.rawValue])
    }
}

extension PushProgress.InvalidAddress {
    func address(_ service: PushService) throws -> PushAddress {
        switch service {
        case .apns: .apns(try PushToken(text))
        case .webPush: .webPush(WebPushSubscription(stored: text, key: [], secret: []))
        }
    }
}

extension PushService {
    init(from reader: inout BinaryReader) throws {
        let number = try reader.byte()
        guard let service = Self.allCases.first(where: { $0.role.rawValue == number }) else {
            throw ClusterEntry.unknown("a push service \(number)")
        }
        self = service
    }

    /// The lease of who pushes by it.
    package var role: LeaseRole {
        switch self {
        case .apns: .apns
        case .webPush: .webPush
        }
    }
}
