import RepriseCore
import RepriseWire

extension SetChannel: JournaledCommand {
    package static let tag: UInt8 = 16

    package func write(to writer: inout BinaryWriter) {
        writer.write(name.text)
        writer.write(settings.visibility.rawValue)
        writer.write(settings.history.rawValue)
        writer.write(settings.retention.count) { $0.write($1) }
        writer.write(settings.retention.age) { $0.write($1.milliseconds) }
        writer.write(settings.retention.bytes) { $0.write($1) }
        writer.write(settings.title) { $0.write($1) }
        writer.write(who)
    }

    package init(from reader: inout BinaryReader) throws {
        let name = try ChannelName(reader.text())
        guard let visibility = ChannelSettings.Visibility(rawValue: try reader.text()),
            let history = ChannelSettings.History(rawValue: try reader.text())
        else { throw ClusterEntry.unknown("a channel's setting") }
        let retention = RetentionPolicy(
            count: try reader.optional { try $0.integer() },
            age: try reader.optional { .milliseconds(try $0.integer()) },
            bytes: try reader.optional { try $0.integer() })
        let title = try reader.optional { try $0.text() }
        self.init(
            name,
            ChannelSettings(
                visibility: visibility, history: history, retention: retention, title: title),
            by: try reader.principal())
    }
}

extension ChangeChannel: JournaledCommand {
    package static let tag: UInt8 = 34

    package func write(to writer: inout BinaryWriter) {
        writer.write(name.text)
        writer.write(changes.visibility?.rawValue) { $0.write($1) }
        writer.write(changes.history?.rawValue) { $0.write($1) }
        writer.write(change: changes.count) { $0.write($1) }
        writer.write(change: changes.age) { $0.write($1.milliseconds) }
        writer.write(change: changes.bytes) { $0.write($1) }
        writer.write(change: changes.title) { $0.write($1) }
        writer.write(who)
    }

    package init(from reader: inout BinaryReader) throws {
        let name = try ChannelName(reader.text())
        var changes = Changes()
        changes.visibility = try reader.word()
        changes.history = try reader.word()
        changes.count = try reader.change { try $0.integer() }
        changes.age = try reader.change { .milliseconds(try $0.integer()) }
        changes.bytes = try reader.change { try $0.integer() }
        changes.title = try reader.change { try $0.text() }
        self.init(name, changes, by: try reader.principal())
    }
}

extension SetMember: JournaledCommand {
    package static let tag: UInt8 = 17

    package func write(to writer: inout BinaryWriter) {
        writer.write(user.text)
        writer.write(role.rawValue)
        writer.write(channel.text)
        writer.write(who)
    }

    package init(from reader: inout BinaryReader) throws {
        let user = try UserID(reader.text())
        guard let role = Member.Role(rawValue: try reader.text()) else {
            throw ClusterEntry.unknown("a member's role")
        }
        self.init(user, role, in: try ChannelName(reader.text()), by: try reader.principal())
    }
}

extension RemoveMember: JournaledCommand {
    package static let tag: UInt8 = 18

    package func write(to writer: inout BinaryWriter) {
        writer.write(user.text)
        writer.write(channel.text)
        writer.write(who)
    }

    package init(from reader: inout BinaryReader) throws {
        let user = try UserID(reader.text())
        self.init(user, from: try ChannelName(reader.text()), by: try reader.principal())
    }
}

extension MovePosition: JournaledCommand {
    package static let tag: UInt8 = 19

    package func write(to writer: inout BinaryWriter) {
        writer.write(channel.text)
        writer.write(user.text)
        writer.write(isAdmin)
        writer.write(device?.text) { $0.write($1) }
        writer.write(read) { $0.write($1) }
        writer.write(delivered) { $0.write($1) }
    }

    package init(from reader: inout BinaryReader) throws {
        self.init(
            channel: try ChannelName(reader.text()), user: try UserID(reader.text()),
            isAdmin: try reader.bool(), device: try reader.optional { try EntryID($0.text()) },
            read: try reader.optional { try $0.integer() },
            delivered: try reader.optional { try $0.integer() })
    }
}

extension SetDevice: JournaledCommand {
    package static let tag: UInt8 = 20

    package func write(to writer: inout BinaryWriter) {
        writer.write(id.text)
        writer.write(user.text)
        writer.write(platform) { $0.write($1) }
        writer.write(pushToken?.text) { $0.write($1) }
        writer.write(subscription) {
            $0.write($1.endpoint)
            $0.write($1.key)
            $0.write($1.secret)
        }
    }

    package init(from reader: inout BinaryReader) throws {
        self.init(
            try EntryID(reader.text()), of: try UserID(reader.text()),
            platform: try reader.optional { try $0.text() },
            pushToken: try reader.optional { try PushToken($0.text()) },
            subscription: try reader.optional {
                WebPushSubscription(
                    unchecked: try $0.text(), key: try $0.bytes(), secret: try $0.bytes())
            })
    }
}

extension RemoveDevice: JournaledCommand {
    package static let tag: UInt8 = 21

    package func write(to writer: inout BinaryWriter) {
        writer.write(id.text)
        writer.write(user.text)
    }

    package init(from reader: inout BinaryReader) throws {
        self.init(try EntryID(reader.text()), of: try UserID(reader.text()))
    }
}

extension SawDevice: JournaledCommand {
    package static let tag: UInt8 = 22

    package func write(to writer: inout BinaryWriter) {
        writer.write(id.text)
        writer.write(user.text)
    }

    package init(from reader: inout BinaryReader) throws {
        self.init(try EntryID(reader.text()), of: try UserID(reader.text()))
    }
}

extension SetMute: JournaledCommand {
    package static let tag: UInt8 = 23

    package func write(to writer: inout BinaryWriter) {
        writer.write(mute.subject, isUsual: mute.exceptMentions == mute.subject.exceptsMentions)
        writer.write(mute.until) { $0.write($1) }
        writer.write(user.text)
    }

    package init(from reader: inout BinaryReader) throws {
        let (subject, isUsual) = try reader.muted()
        let mute = Mute(
            subject, until: try reader.optional { try $0.time() },
            exceptMentions: subject.exceptsMentions == isUsual)
        self.init(mute, of: try UserID(reader.text()))
    }
}

extension RemoveMute: JournaledCommand {
    package static let tag: UInt8 = 24

    package func write(to writer: inout BinaryWriter) {
        writer.write(subject, isUsual: true)
        writer.write(user.text)
    }

    package init(from reader: inout BinaryReader) throws {
        let (subject, isUsual) = try reader.muted()
        guard isUsual else { throw RepriseError(.malformed, "A mute ends in no other way.") }
        self.init(subject, of: try UserID(reader.text()))
    }
}

extension SetQuietHours: JournaledCommand {
    package static let tag: UInt8 = 25

    package func write(to writer: inout BinaryWriter) {
        writer.write(hours) {
            $0.write(Int64($1.start))
            $0.write(Int64($1.end))
            $0.write($1.zone)
        }
        writer.write(user.text)
        writer.write(device?.text) { $0.write($1) }
    }

    /// The time zone is not looked up: its gateway did, and another may not know it.
    package init(from reader: inout BinaryReader) throws {
        let hours = try reader.optional {
            let (start, end) = (try $0.integer(), try $0.integer())
            guard (0..<1_440).contains(start), (0..<1_440).contains(end) else {
                throw RepriseError(.malformed, "Quiet hours are minutes of a day.")
            }
            return QuietHours(unchecked: Int(start), to: Int(end), zone: try $0.text())
        }
        self.init(
            hours, of: try UserID(reader.text()),
            on: try reader.optional { try EntryID($0.text()) })
    }
}

extension SetCatalogue: JournaledCommand {
    package static let tag: UInt8 = 26

    package func write(to writer: inout BinaryWriter) {
        writer.write(version)
        writer.write(bytes)
        writer.write(company.text)
        switch condition {
        case .none: writer.write(UInt8(0))
        case .absent: writer.write(UInt8(1))
        case .oneOf(nil): writer.write(UInt8(2))
        case .oneOf(let tags?):
            writer.write(UInt8(3))
            writer.write(Int64(tags.count))
            for tag in tags { writer.write(tag) }
        }
    }

    package init(from reader: inout BinaryReader) throws {
        let (version, bytes) = (try reader.text(), try reader.bytes())
        let company = try ChannelName(reader.text())
        let condition: Condition
        switch try reader.byte() {
        case 0: condition = .none
        case 1: condition = .absent
        case 2: condition = .oneOf(nil)
        case 3: condition = .oneOf(try reader.list { try $0.text() })
        case let other: throw ClusterEntry.unknown("a condition \(other)")
        }
        self.init(unchecked: bytes, version: version, of: company, if: condition)
    }
}

extension BinaryWriter {
    fileprivate mutating func write<Value>(
        change: ChangeChannel.Change<Value>, _ body: (inout BinaryWriter, Value) -> Void
    ) {
        switch change {
        case .kept: write(UInt8(0))
        case .dropped: write(UInt8(1))
        case .set(let value):
            write(UInt8(2))
            body(&self, value)
        }
    }

    /// A former version knows mutes that let mentions through as usual, and waits before others.
    fileprivate mutating func write(_ subject: Mute.Subject, isUsual: Bool) {
        switch subject {
        case .channel(let channel):
            write(UInt8(isUsual ? 0 : 2))
            write(channel.text)
        case .user(let user):
            write(UInt8(isUsual ? 1 : 3))
            write(user.text)
        }
    }
}

extension BinaryReader {
    fileprivate mutating func change<Value>(
        _ body: (inout BinaryReader) throws -> Value
    ) throws -> ChangeChannel.Change<Value> {
        switch try byte() {
        case 0: .kept
        case 1: .dropped
        case 2: .set(try body(&self))
        case let other: throw ClusterEntry.unknown("a change \(other) of a setting")
        }
    }

    /// A setting of a channel, or that it is kept.
    fileprivate mutating func word<Word: RawRepresentable<String>>() throws -> Word? {
        try optional { reader in
            guard let word = Word(rawValue: try reader.text()) else {
                throw ClusterEntry.unknown("a channel's setting")
            }
            return word
        }
    }

    fileprivate mutating func muted() throws -> (subject: Mute.Subject, isUsual: Bool) {
        switch try byte() {
        case 0: (.channel(try ChannelName(text())), true)
        case 1: (.user(try UserID(text())), true)
        case 2: (.channel(try ChannelName(text())), false)
        case 3: (.user(try UserID(text())), false)
        case let other: throw ClusterEntry.unknown("a mute of \(other)")
        }
    }
}
