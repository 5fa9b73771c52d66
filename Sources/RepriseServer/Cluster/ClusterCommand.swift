import RepriseCore
package import RepriseWire

/// A change that every gateway applies: intent, ids and who wants it, and nothing that was read
/// from a view.
package enum ClusterCommand: Sendable {
    /// Changes nothing: what follows it is newer.
    case nop
    /// Opens a session for its writer, who knows it by the random number; people by the name.
    case session(nonce: Int64, name: String)
    case publish(PublishMessages)
    /// A device has connected: its place in the journal is the connection's ``Generation``.
    case hello(ConnectingDevice)
    /// Removes the first of a channel's messages, as many as one transaction may; by retention
    /// with the grant of ``LeaseRole/housekeeping``.
    case trim(ChannelName, through: Int64, grant: Int64?)
    /// Forgets a part of a run of ids that are needed no more: see ``KnownIDs``; with the grant of
    /// ``LeaseRole/housekeeping``.
    case forgetIDs(run: Int64, grant: Int64?)
    case lease(LeaseRequest)
    /// A gateway begins to push by a service: messages stored before are not pushed, if it is the
    /// first that ever does.
    case beginPushing(PushService, grant: Int64)
    case pushed(PushProgress)
    /// Every gateway keeps its view as it is here, and says what it holds: with the grant of
    /// ``LeaseRole/base``.
    case mark(grant: Int64)
    case hashed(ViewHash)
    case checked(ResultCheck)
    /// A gateway tells people that it cannot apply an entry; it stands outside of sessions, and
    /// every gateway ignores it.
    case stuck(StuckReport)
    case rules(RaisedRules)
    case account(any JournaledCommand)

    package var bytes: [UInt8] {
        var writer = BinaryWriter()
        switch self {
        case .nop: writer.write(UInt8(0))
        case .session(let nonce, let name):
            writer.write(UInt8(1))
            writer.write(nonce)
            writer.write(name)
        case .publish(let publish):
            writer.write(UInt8(2))
            publish.write(to: &writer)
        case .trim(let channel, let through, let grant):
            writer.write(UInt8(3))
            writer.write(channel.text)
            writer.write(through)
            writer.write(grant) { $0.write($1) }
        case .lease(let request):
            writer.write(UInt8(5))
            request.write(to: &writer)
        case .beginPushing(let service, let grant):
            writer.write(UInt8(6))
            writer.write(service.role.rawValue)
            writer.write(grant)
        case .pushed(let progress):
            writer.write(UInt8(7))
            progress.write(to: &writer)
        case .mark(let grant):
            writer.write(UInt8(8))
            writer.write(grant)
        case .hashed(let hash):
            writer.write(UInt8(9))
            writer.write(hash.mark)
            writer.writeRaw(hash.hash)
        case .checked(let check):
            writer.write(UInt8(10))
            check.write(to: &writer)
        case .stuck(let report):
            writer.write(UInt8(11))
            report.write(to: &writer)
        case .forgetIDs(let run, let grant):
            writer.write(UInt8(12))
            writer.write(run)
            writer.write(grant) { $0.write($1) }
        case .rules(let rules):
            writer.write(UInt8(13))
            rules.write(to: &writer)
        case .hello(let device):
            writer.write(UInt8(4))
            writer.write(device.user?.text) { $0.write($1) }
            writer.write(device.device.text)
        case .account(let command):
            writer.write(type(of: command).tag)
            command.write(to: &writer)
        }
        return writer.bytes
    }

    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for fields that a gateway does not
    ///   write, `.unknownKind` for a tag or a value of a later version, and what the fields' types
    ///   throw.
    init(_ reader: inout BinaryReader) throws {
        switch try reader.byte() {
        case 0: self = .nop
        case 1:
            self = .session(nonce: try reader.integer(), name: try reader.text())
        case 2: self = .publish(try PublishMessages(from: &reader))
        case 3:
            self = .trim(
                try ChannelName(reader.text()), through: try reader.integer(),
                grant: try reader.optional { try $0.integer() })
        case 4:
            let user = try reader.optional { try UserID($0.text()) }
            self = .hello(.init(user: user, device: try EntryID(reader.text())))
        case 5: self = .lease(try LeaseRequest(from: &reader))
        case 6: self = .beginPushing(try PushService(from: &reader), grant: try reader.integer())
        case 7: self = .pushed(try PushProgress(from: &reader))
        case 8: self = .mark(grant: try reader.integer())
        case 9: self = .hashed(ViewHash(mark: try reader.integer(), hash: try reader.raw(32)))
        case 10: self = .checked(try ResultCheck(from: &reader))
        case 11: self = .stuck(try StuckReport(from: &reader))
        case 12:
            self = .forgetIDs(
                run: try reader.integer(), grant: try reader.optional { try $0.integer() })
        case 13: self = .rules(try RaisedRules(from: &reader))
        case let tag:
            guard let type = Self.accountCommands.first(where: { $0.tag == tag }) else {
                throw ClusterEntry.unknown("a command \(tag)")
            }
            self = .account(try type.init(from: &reader))
        }
    }

    /// Each with a tag of its own, from 16.
    package static let accountCommands: [any JournaledCommand.Type] = [
        SetChannel.self, SetMember.self, RemoveMember.self, MovePosition.self, SetDevice.self,
        RemoveDevice.self, SawDevice.self, SetMute.self, RemoveMute.self, SetQuietHours.self,
        SetCatalogue.self, SetProfile.self, NoteTold.self, TellAnew.self,
        SetArchived.self, SetSilentElsewhere.self, SetPresence.self, NoteSeen.self,
        ChangeChannel.self,
    ]
}

/// A change of accounts that the journal can hold.
package protocol JournaledCommand: AccountCommand {
    /// Never used for another command, also not after this one has gone.
    static var tag: UInt8 { get }
    /// Writes its fields.
    func write(to writer: inout BinaryWriter)
    /// Reads its fields; it asks nothing of its environment.
    init(from reader: inout BinaryReader) throws
}

/// Messages of one user, to be stored in order.
package struct PublishMessages: Hashable, Sendable {
    package var who: Principal
    /// The connection that they came by; nil for HTTP.
    package var fence: FencingToken?
    package var messages: [ClientFrame.Publish]

    package init(
        _ messages: [ClientFrame.Publish], by who: Principal, fence: FencingToken? = nil
    ) {
        (self.messages, self.who, self.fence) = (messages, who, fence)
    }

    func write(to writer: inout BinaryWriter) {
        writer.write(who)
        writer.write(fence) {
            $0.write($1.device.text)
            $0.write($1.generation.sequence)
            $0.write($1.generation.place)
        }
        writer.write(Int64(messages.count))
        for message in messages {
            writer.write(message.channel.text)
            writer.write(message.id.text)
            writer.write(message.after?.text) { $0.write($1) }
            switch message.change {
            case nil: writer.write(UInt8(0))
            case .edits(let target):
                writer.write(UInt8(1))
                writer.write(target.text)
            case .deletes(let target):
                writer.write(UInt8(2))
                writer.write(target.text)
            }
            writer.write(message.body)
        }
    }

    init(from reader: inout BinaryReader) throws {
        who = try reader.principal()
        fence = try reader.optional {
            FencingToken(
                device: try EntryID($0.text()),
                generation: .init(sequence: try $0.integer(), place: try $0.integer()))
        }
        let count = try reader.integer()
        guard (1...Int64(ClusterLimits.entryCommands)).contains(count) else {
            throw RepriseError(.malformed, "\(count) messages are published.")
        }
        messages = []
        for _ in 0..<count {
            let channel = try ChannelName(reader.text())
            let id = try EntryID(reader.text())
            let after = try reader.optional { try EntryID($0.text()) }
            let change: MessageChange<EntryID>?
            switch try reader.byte() {
            case 0: change = nil
            case 1: change = .edits(try EntryID(reader.text()))
            case 2: change = .deletes(try EntryID(reader.text()))
            case let other:
                throw ClusterEntry.unknown("a change \(other) of a message")
            }
            let body = try reader.bytes()
            guard body.count <= WireLimits.bodyBytes else {
                throw RepriseError(.tooLarge, "A body has \(body.count) bytes.")
            }
            messages.append(
                .init(channel: channel, id: id, after: after, change: change, body: body))
        }
    }
}

extension BinaryWriter {
    /// Without its expiry: it was checked when it came.
    mutating func write(_ who: Principal) {
        write(who.user?.text) { $0.write($1) }
        write(who.isAdmin)
    }
}

extension BinaryReader {
    mutating func principal() throws -> Principal {
        let user = try optional { try UserID($0.text()) }
        return Principal(user: user, isAdmin: try bool())
    }
}
