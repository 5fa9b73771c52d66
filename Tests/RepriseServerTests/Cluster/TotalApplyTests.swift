import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// What a gateway can write, and somebody with its credentials: whatever it asks for, every gateway
/// goes on behind it.
@Suite("Every command comes to an outcome", .timeLimit(.minutes(1)))
struct TotalApplyTests {
    private static let numbers: [Int64] = [
        .min, -1, 0, 1, 2, WireLimits.greatestSequence, .max - 1, .max,
    ]
    private static let texts = [
        "", "\0", "a\0b", "\u{feff}é", String(repeating: "x", count: 2_000),
    ]

    private let room = channel("room")
    private let ada = UserID(unchecked: "ada")
    private let phone = EntryID(unchecked: "phone")
    private var owner: Principal { Principal(user: ada) }

    /// A journal of one gateway, which applies what it writes.
    private final class Writer {
        let view: ClusterView
        private var n: Int64 = 0
        private let session: Int64 = 1
        private(set) var entries: [StoredEntry] = []
        let clock = WallTime(milliseconds: 1_800_000_000_000)

        init(_ path: String) throws {
            view = try ClusterView.open(
                at: path, epoch: try Epoch("e"), ClusterStore.configuration)
            try store(
                ClusterEntry(
                    session: 0, n: 1, clock: clock, base: .start,
                    commands: [.session(nonce: 1, name: "")]
                ).bytes, stamp: clock)
        }

        /// What each came to; nil if the entry does not count.
        @discardableResult
        func write(
            _ commands: [ClusterCommand], clock: WallTime? = nil, stamp: WallTime? = nil
        ) throws -> [CommandOutcome]? {
            n += 1
            let entry = ClusterEntry(
                session: session, n: n, clock: clock ?? self.clock, base: view.position,
                commands: commands)
            let applied = try store(entry.bytes, stamp: stamp ?? self.clock)
            guard applied?.disposition == .accepted else {
                n -= 1
                return nil
            }
            return applied?.outcomes
        }

        @discardableResult
        private func store(_ bytes: [UInt8], stamp: WallTime) throws -> AppliedEntry? {
            let entry = StoredEntry(
                sequence: view.position.sequence + 1, stamp: stamp, bytes: bytes)
            entries.append(entry)
            return try view.apply([entry]).last
        }
    }

    /// Writes as `body` does, and expects another gateway to come to the same.
    private func expectTotal(_ body: (Writer) throws -> Void) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let writer = try Writer(folder.path("one"))
        let first = (0..<3).map { _ in
            ClientFrame.Publish(channel: room, id: .random(), body: [49])
        }
        try writer.write([
            .account(SetChannel(room, ChannelSettings(), by: owner)),
            .publish(PublishMessages(first, by: owner)),
        ])
        try body(writer)
        // It goes on.
        let last = PublishMessages([.init(channel: room, id: .random(), body: [49])], by: owner)
        let outcome = try writer.write([.publish(last)])?.first
        guard case .published(let results)? = outcome, results[0].event != nil else {
            Issue.record("after all this: \(outcome as Any)")
            return
        }
        let other = try ClusterView.open(
            at: folder.path("two"), epoch: try Epoch("e"), ClusterStore.configuration)
        for entry in writer.entries { _ = try other.apply([entry]) }
        #expect(try other.dump() == writer.view.dump())
        await other.close()
        await writer.view.close()
    }

    /// Those of ``ClusterEntryTests``, which has one with each tag.
    @Test("Each command alone in an entry has an outcome")
    func each() async throws {
        try await expectTotal { writer in
            for command in try ClusterEntryTests.commands() {
                #expect(try writer.write([command]) != nil, "\(command)")
            }
        }
    }

    @Test("Of the messages of one command each is decided by its own channel")
    func channels() async throws {
        let (bob, team) = (UserID(unchecked: "bob"), channel("team"))
        try await expectTotal { writer in
            try writer.write([
                .account(SetChannel(team, ChannelSettings(visibility: .private), by: owner)),
                .account(SetChannel(room, ChannelSettings(visibility: .private), by: owner)),
                .account(SetMember(bob, .member, in: team, by: owner)),
            ])
            let messages = [team, room, team].map {
                ClientFrame.Publish(channel: $0, id: .random(), body: [49])
            }
            let outcome = try writer.write([
                .publish(PublishMessages(messages, by: Principal(user: bob)))
            ])
            guard case .published(let results)? = outcome?.first else {
                Issue.record("\(outcome as Any)")
                return
            }
            #expect(results.map { $0.event != nil } == [true, false, true])
        }
    }

    @Test("Each command with numbers at their bounds has an outcome")
    func numbers() async throws {
        try await expectTotal { writer in
            for number in Self.numbers {
                let time = WallTime(milliseconds: number)
                let retention = RetentionPolicy(
                    count: number, age: .milliseconds(number), bytes: number)
                let fence = FencingToken(
                    device: phone, generation: .init(sequence: number, place: number))
                var changes = ChangeChannel.Changes()
                (changes.count, changes.age) = (.set(number), .set(.milliseconds(number)))
                for other in Self.numbers {
                    try writer.write([
                        .account(
                            MovePosition(
                                channel: room, user: ada, device: phone, read: number,
                                delivered: other))
                    ])
                    try writer.write([
                        .lease(LeaseRequest(.base, by: number, .renew(grant: other)))
                    ])
                    try writer.write([.trim(room, through: number, grant: other)])
                }
                try writer.write([
                    .account(SawDevice(phone, of: ada)), .account(NoteSeen([ada: time])),
                    .account(SetChannel(room, ChannelSettings(retention: retention), by: owner)),
                    .account(ChangeChannel(room, changes, by: owner)),
                    .account(SetMute(Mute(.channel(room), until: time), of: ada)),
                    .trim(room, through: number, grant: nil), .mark(grant: number),
                    .forgetIDs(run: number, grant: nil), .forgetIDs(run: number, grant: number),
                    .hashed(ViewHash(mark: number, hash: Array(1...32))),
                    .rules(RaisedRules()), .account(NoteTold([number, number])),
                    .account(TellAnew(ada)),
                    .checked(
                        ResultCheck(first: number, last: number, digest: Array(1...32), name: "")),
                    .stuck(StuckReport(sequence: number, reason: "", name: "")),
                    .lease(LeaseRequest(.housekeeping, by: number, .claim)),
                    .lease(LeaseRequest(.housekeeping, by: number, .release(grant: number))),
                    .beginPushing(.webPush, grant: number),
                    .pushed(PushProgress(.webPush, by: number)),
                    .hello(.init(user: ada, device: phone)),
                    .publish(
                        PublishMessages(
                            [.init(channel: room, id: .random(), body: [49])], by: owner,
                            fence: fence)),
                ])
                // Those of a later version would stop it.
                if number <= ClusterRules.newest {
                    try writer.write([.rules(RaisedRules(number))])
                }
            }
        }
    }

    @Test("Each push command with numbers at their bounds has an outcome")
    func pushes() async throws {
        try await expectTotal { writer in
            try writer.write([.account(SawDevice(phone, of: ada))])
            for service in [PushService.apns, .webPush] {
                let outcome = try writer.write([.lease(LeaseRequest(service.role, by: 1, .claim))])
                guard case .leased(let grant?)? = outcome?.first else {
                    Issue.record("no lease: \(outcome as Any)")
                    return
                }
                try writer.write([.beginPushing(service, grant: grant)])
                for number in Self.numbers {
                    var progress = PushProgress(service, by: grant)
                    progress.marks = [.init(user: ada, device: phone, channel: room, seq: number)]
                    progress.done = [.init(channel: room, through: number)]
                    progress.invalid = [
                        .init(
                            user: ada, device: phone, text: "ab",
                            since: WallTime(milliseconds: number))
                    ]
                    let outcome = try writer.write([.pushed(progress)])?.first
                    guard case .nothing? = outcome else {
                        Issue.record("\(number): \(outcome as Any)")
                        continue
                    }
                }
            }
        }
    }

    @Test("Entries with clocks of writer and journal at their bounds have an outcome")
    func clocks() async throws {
        try await expectTotal { writer in
            for number in Self.numbers {
                let far = WallTime(milliseconds: number)
                try writer.write([.nop], clock: far)
                // The journal's alone moves nothing: nobody confirms it.
                try writer.write([.nop], stamp: far)
            }
            #expect(writer.view.time.0 == writer.clock)
        }
    }

    @Test("Commands with texts of every kind and repeated identifiers have an outcome")
    func texts() async throws {
        let unset = SetCatalogue.Condition.none
        try await expectTotal { writer in
            for text in Self.texts + Self.texts {
                var retitled = ChangeChannel.Changes()
                retitled.title = .set(text)
                try writer.write([
                    .account(ChangeChannel(room, retitled, by: owner)),
                    .account(SetChannel(room, ChannelSettings(title: text), by: owner)),
                    .account(SetDevice(phone, of: ada, platform: text)),
                    .account(SetProfile(Profile(name: text, picture: text), of: ada)),
                    .account(SetProfile(Profile(name: "Ada"), of: ada)),
                    .checked(ResultCheck(first: 1, last: 2, digest: Array(1...32), name: text)),
                    .stuck(StuckReport(sequence: 1, reason: text, name: text)),
                ])
                for condition in [unset, .absent, .oneOf(nil), .oneOf([text, text])] {
                    try writer.write([
                        .account(
                            try Self.catalogue(version: text, of: room, if: condition))
                    ])
                }
                let id = EntryID(unchecked: "again")
                let changes: [MessageChange<EntryID>?] = [
                    nil, .edits(id), .deletes(id), .deletes(phone),
                ]
                for change in changes {
                    let message = ClientFrame.Publish(
                        channel: room, id: change == nil ? id : .random(), change: change,
                        body: Array(text.utf8.prefix(9)))
                    try writer.write([.publish(PublishMessages([message, message], by: owner))])
                }
                for who in [owner, Principal(user: nil), Principal(user: nil, isAdmin: true)] {
                    try writer.write([
                        .account(SetMember(ada, .owner, in: room, by: who)),
                        .account(RemoveMember(UserID(unchecked: "bob"), from: room, by: who)),
                        .account(RemoveMember(UserID(unchecked: "bob"), from: room, by: who)),
                        .account(SetArchived(room, of: ada)),
                        .account(SetArchived(room, false, of: UserID(unchecked: "bob"))),
                        .account(RemoveDevice(phone, of: ada)),
                        .account(RemoveDevice(phone, of: ada)),
                        .account(RemoveMute(.user(ada), of: ada)),
                        .account(SetQuietHours(nil, of: ada, on: phone)),
                    ])
                }
            }
        }
    }

    /// Whatever its text: a gateway reads no catalogue when it applies one.
    private static func catalogue(
        version: String, of company: ChannelName, if condition: SetCatalogue.Condition
    ) throws -> SetCatalogue {
        var writer = BinaryWriter()
        writer.write(version)
        writer.write(Array("{}".utf8))
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
        var reader = BinaryReader(writer.bytes)
        return try SetCatalogue(from: &reader)
    }
}
