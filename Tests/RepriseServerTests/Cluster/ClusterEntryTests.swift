import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@Suite("Entries of the cluster's journal")
struct ClusterEntryTests {
    /// One of each command, and of each shape of its fields.
    static func commands() throws -> [ClusterCommand] {
        let (channel, ada) = (try ChannelName("general"), try UserID("ada"))
        let (id, other) = (try EntryID("a1"), try EntryID("b2"))
        let (admin, user) = (Principal(user: nil, isAdmin: true), Principal(user: ada))
        let subscription = try WebPushSubscription(
            endpoint: "https://push.example/x",
            key:
                "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            secret: "BTBZMqHH6r4Tts7J_aSIgg")
        let settings = ChannelSettings(
            visibility: .private, history: .sinceJoin,
            retention: RetentionPolicy(count: 5, age: .milliseconds(60_001), bytes: 7),
            title: "Übersicht")
        let messages: [ClientFrame.Publish] = [
            .init(channel: channel, id: id, body: Array("{}".utf8)),
            .init(channel: channel, id: other, after: id, change: .edits(id), body: [49]),
            .init(channel: channel, id: id, change: .deletes(other), body: Array("null".utf8)),
        ]
        let accounts: [any JournaledCommand] = [
            SetChannel(channel, settings, by: user),
            SetChannel(channel, ChannelSettings(), by: admin),
            SetMember(ada, .owner, in: channel, by: user),
            RemoveMember(ada, from: channel, by: admin),
            MovePosition(channel: channel, user: ada, device: id, read: 4, delivered: nil),
            MovePosition(channel: channel, user: ada, device: nil, read: nil, delivered: 9),
            SetDevice(id, of: ada, platform: "iOS", pushToken: try PushToken("ab01")),
            SetDevice(id, of: ada, platform: nil, subscription: subscription),
            RemoveDevice(id, of: ada), SawDevice(id, of: ada),
            SetMute(Mute(.channel(channel), until: WallTime(milliseconds: 5)), of: ada),
            SetMute(Mute(.user(ada)), of: ada),
            SetMute(Mute(.channel(channel), exceptMentions: false), of: ada),
            SetMute(Mute(.user(ada), exceptMentions: true), of: ada),
            RemoveMute(.channel(channel), of: ada),
            SetQuietHours(
                try QuietHours(start: 1_320, end: 420, zone: "Europe/Berlin"), of: ada, on: id),
            SetQuietHours(nil, of: ada),
        ]
        let catalogue = try FormsCatalogue(
            Array(#"{"format":"forms/1","version":"1","forms":[]}"#.utf8))
        let conditions: [SetCatalogue.Condition] = [
            .none, .absent, .oneOf(nil), .oneOf(["x", ""]),
        ]
        var progress = PushProgress(.apns, by: 77)
        progress.marks = [.init(user: ada, device: id, channel: channel, seq: 9)]
        progress.invalid = [
            .init(user: ada, device: id, text: "ab01", since: WallTime(milliseconds: 5)),
            .init(user: ada, device: other, text: "ab02", since: nil),
        ]
        progress.done = [.init(channel: channel, through: 8)]
        let fence = FencingToken(device: id, generation: .init(sequence: 258, place: 3))
        var (changes, dropped) = (ChangeChannel.Changes(), ChangeChannel.Changes())
        (changes.visibility, changes.history) = (.inbox, .all)
        (changes.count, changes.age) = (.set(5), .set(.milliseconds(60_001)))
        (changes.bytes, changes.title) = (.set(7), .set("Übersicht"))
        (dropped.age, dropped.title) = (.dropped, .dropped)
        let changed: [ClusterCommand] = [changes, dropped].map {
            .account(ChangeChannel(channel, $0, by: user))
        }
        return [
            .nop, .publish(PublishMessages(messages, by: user)),
            .trim(channel, through: 12, grant: nil), .trim(channel, through: 12, grant: 77),
            .forgetIDs(run: 3, grant: nil), .forgetIDs(run: 3, grant: 77),
            .publish(PublishMessages(messages, by: user, fence: fence)),
            .mark(grant: 77), .hashed(ViewHash(mark: 12, hash: Array(1...32))),
            .checked(ResultCheck(first: 5, last: 9, digest: Array(1...32), name: "g1:8080")),
            .checked(
                ResultCheck(first: 5, last: 9, digest: Array(1...32), name: "g1", sqlite: "3.46.1")),
            .stuck(StuckReport(sequence: 9, reason: "no", name: "g1:8080")),
            .hello(.init(user: ada, device: id)), .hello(.init(user: nil, device: other)),
            .lease(LeaseRequest(.housekeeping, by: -5, .claim)),
            .lease(LeaseRequest(.apns, by: 5, .renew(grant: 77))),
            .lease(LeaseRequest(.webPush, by: 5, .release(grant: 77))),
            .rules(RaisedRules(2, secret: Array(1...32))),
            .beginPushing(.webPush, grant: 77), .pushed(progress),
            .pushed(PushProgress(.webPush, by: 77)),
        ]
            + accounts.map { .account($0) }
            + conditions.map { .account(SetCatalogue(catalogue, of: channel, if: $0)) }
            + [Profile(name: "Ada", picture: "https://a"), Profile()]
            .map { .account(SetProfile($0, of: ada)) }
            + [.account(NoteTold([5, 6], of: [ada])), .account(TellAnew(ada))]
            + [true, false].map { .account(SetArchived(channel, $0, of: ada)) }
            + [true, false].map { .account(SetSilentElsewhere($0, of: ada)) }
            + [true, false].map { .account(SetPresence(isHidden: $0, of: ada)) }
            + [.account(NoteSeen([ada: WallTime(milliseconds: 5)])), .account(NoteSeen([:]))]
            + changed
    }

    static let base = JournalPosition(
        sequence: 41, digest: JournalDigest(bytes: Array(0..<32)))

    /// An entry that opens a session and is of a later format: nobody knows what it does.
    static var later: [UInt8] {
        var bytes = ClusterEntry(
            session: 0, n: 1, clock: WallTime(milliseconds: 1_800_000_000_123), base: .start,
            commands: [.session(nonce: 1, name: "")]
        ).bytes
        bytes[ClusterEntry.magic.count] = 2
        return bytes
    }

    static func entry(_ commands: [ClusterCommand]) -> ClusterEntry {
        ClusterEntry(
            session: 7, n: 3, clock: WallTime(milliseconds: 1_800_000_000_123), base: base,
            commands: commands)
    }

    @Test("An entry is read as it was written, and written again as the same bytes")
    func roundTrip() throws {
        let commands = try Self.commands()
        let tags = Set(commands.map { $0.bytes[0] })
        #expect(tags.count == 13 + ClusterCommand.accountCommands.count, "each is tried")
        let bytes = Self.entry(commands).bytes
        let entry = try ClusterEntry(bytes)
        #expect(entry.session == 7 && entry.n == 3 && entry.base == Self.base)
        #expect(entry.clock == WallTime(milliseconds: 1_800_000_000_123))
        #expect(entry.commands.map { "\($0)" } == commands.map { "\($0)" })
        #expect(entry.bytes == bytes)
    }

    @Test("Last-seen times are written in one order, and read in no other")
    func seen() throws {
        let (ada, bob) = (try UserID("ada"), try UserID("bob"))
        let (early, late) = (WallTime(milliseconds: 5), WallTime(milliseconds: 9))
        func bytes(_ users: [(UserID, WallTime)]) -> [UInt8] {
            var writer = BinaryWriter()
            writer.write(Int64(users.count))
            for (user, time) in users {
                writer.write(user.text)
                writer.write(time)
            }
            return writer.bytes
        }
        func read(_ bytes: [UInt8]) throws -> [UserID: WallTime] {
            var reader = BinaryReader(bytes)
            return try NoteSeen(from: &reader).seen
        }
        var writer = BinaryWriter()
        NoteSeen([bob: early, ada: late]).write(to: &writer)
        #expect(writer.bytes == bytes([(ada, late), (bob, early)]))
        #expect(try read(writer.bytes) == [ada: late, bob: early])
        for wrong in [[(bob, early), (ada, late)], [(ada, early), (ada, late)]] {
            #expect(throws: RepriseError.self) { try read(bytes(wrong)) }
        }
        let many = try (0...NoteSeen.users).map { (try UserID("u\(10_000 + $0)"), early) }
        #expect(throws: RepriseError.self) { try read(bytes(many)) }
        #expect(try read(bytes(Array(many.dropLast()))).count == NoteSeen.users)
    }

    @Test("The tags of commands are unique")
    func tags() {
        let tags = ClusterCommand.accountCommands.map { $0.tag }
        #expect(Set(tags).count == tags.count && tags.allSatisfy { $0 >= 16 })
    }

    @Test("An entry that is cut off or has more behind it is refused, at each byte")
    func cutOff() throws {
        for command in try Self.commands() {
            let bytes = Self.entry([command]).bytes
            for end in 0..<bytes.count {
                #expect(throws: RepriseError.self) { try ClusterEntry(Array(bytes[..<end])) }
            }
            #expect(throws: RepriseError.self) { try ClusterEntry(bytes + [0]) }
        }
    }

    @Test(
        "An entry with a changed byte is refused, or read as another value that has the same encoding"
    )
    func changed() throws {
        for command in try Self.commands() {
            let bytes = Self.entry([command]).bytes
            for index in bytes.indices {
                for change in [UInt8(1), 0x80, 0xff] {
                    var other = bytes
                    other[index] ^= change
                    guard let entry = try? ClusterEntry(other) else { continue }
                    #expect(entry.bytes == other, "byte \(index) of \(command)")
                }
            }
        }
    }

    @Test("An entry of a later version has another error than a malformed one")
    func unknown() throws {
        let bytes = Self.entry([.nop]).bytes
        for (index, value) in [(4, UInt8(2)), (12, 2), (bytes.count - 1, 250)] {
            var other = bytes
            other[index] = value
            expectError(.unknownKind) { try ClusterEntry(other) }
            // Its head is that of every version.
            let head = try ClusterEntry(headOf: other)
            #expect(head.session == 7 && head.n == 3 && head.base == Self.base)
        }
        expectError(.malformed) { try ClusterEntry(Self.entry([]).bytes) }
        expectError(.malformed) {
            try ClusterEntry(Self.entry([.session(nonce: 1, name: "")]).bytes)
        }
        var opening = Self.entry([.session(nonce: 1, name: "")])
        opening.session = 0
        #expect(try ClusterEntry(opening.bytes).session == 0)
        opening.commands.append(.nop)
        expectError(.malformed) { try ClusterEntry(opening.bytes) }
    }

    /// Ignored as noise, an older gateway would go on with another view than the others.
    @Test("A command with a value of a later version has another error than a malformed one")
    func unknownValues() throws {
        let names = ["private", "sinceJoin", "owner"].map { Array($0.utf8) }
        var found: Set<Int> = []
        for command in try Self.commands() {
            let bytes = command.bytes
            for (number, name) in names.enumerated() {
                guard let range = bytes.firstRange(of: name) else { continue }
                found.insert(number)
                var other = bytes
                other[range.lowerBound] = UInt8(ascii: "z")
                expectError(.unknownKind) { try Self.read(other) }
            }
        }
        #expect(found.count == 3)
        // Bytes that tell one of several shapes, each the last of its command but for a few.
        let (room, ada) = (try ChannelName("general"), try UserID("ada"))
        let id = try EntryID("a1")
        let lease = ClusterCommand.lease(LeaseRequest(.apns, by: 1, .claim)).bytes
        let change = ClusterCommand.publish(
            PublishMessages(
                [.init(channel: room, id: id, body: [49])], by: Principal(user: ada))
        ).bytes
        let mute = ClusterCommand.account(RemoveMute(.user(ada), of: ada)).bytes
        for (bytes, index) in [(lease, lease.count - 1), (change, change.count - 6), (mute, 1)] {
            var other = bytes
            #expect(try Self.read(other).bytes == bytes)
            other[index] = 9
            expectError(.unknownKind) { try Self.read(other) }
        }
    }

    private static func read(_ command: [UInt8]) throws -> ClusterCommand {
        let entry = try ClusterEntry(
            ClusterEntry.bytes(
                session: 7, n: 3, clock: WallTime(milliseconds: 1), base: base,
                commands: [command]))
        return entry.commands[0]
    }

    @Test("The bytes are those of the first version")
    func recorded() throws {
        let hex = try Self.commands().map { command in
            command.bytes.map { byte in
                let digits = String(byte, radix: 16)
                return byte < 16 ? "0" + digits : digits
            }.joined()
        }
        try Recording(name: "cluster-commands.txt").check(hex)
    }
}
