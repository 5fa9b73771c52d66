import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Gateways of a cluster", .timeLimit(.minutes(1)))
struct ClusterReplicaTests {
    private static func run(
        seed: UInt64 = 1, faults: FaultyJournal.Faults = ClusterStore.faults,
        configuration: ClusterView.Configuration = ClusterStore.configuration,
        _ body: (ClusterStore) async throws -> Void
    ) async throws {
        let store = try ClusterStore(
            clock: ManualClock(), seed: seed, faults: faults, configuration)
        try await store.reopen()
        do {
            try await body(store)
        } catch {
            await store.remove()
            throw error
        }
        await store.remove()
    }

    // MARK: The same commands, on one server

    /// Work of all kinds, by seed.
    private struct Work {
        var random: SeededGenerator
        var ids: [EntryID] = []

        mutating func command() throws -> ClusterCommand {
            let user = try UserID(random.element(["ada", "grace", "edsger"]))
            let other = try UserID(random.element(["ada", "grace", "edsger"]))
            let channel = try ChannelName(random.element(["one", "two", "three"]))
            let who = Principal(user: user, isAdmin: random.chance(0.1))
            let device = try EntryID(random.element(["d1", "d2"]))
            switch random.below(12) {
            case 0:
                let settings = ChannelSettings(
                    visibility: random.chance(0.6) ? .private : .public,
                    history: random.chance(0.5) ? .sinceJoin : .all,
                    title: "title \(random.below(9))")
                return .account(SetChannel(channel, settings, by: who))
            case 1:
                let role: Member.Role = random.chance(0.2) ? .owner : .member
                return .account(SetMember(other, role, in: channel, by: who))
            case 2: return .account(RemoveMember(other, from: channel, by: who))
            case 3:
                return .account(
                    MovePosition(
                        channel: channel, user: user, device: random.chance(0.5) ? device : nil,
                        read: Int64(random.below(60)), delivered: Int64(random.below(60))))
            case 4: return .account(SawDevice(device, of: user))
            case 5:
                let mute = Mute(.channel(channel), until: nil)
                return .account(
                    random.chance(0.5)
                        ? SetMute(mute, of: user) : SetMute(Mute(.user(other)), of: user))
            default: return .publish(PublishMessages(try messages(in: channel), by: who))
            }
        }

        private mutating func messages(in channel: ChannelName) throws -> [ClientFrame.Publish] {
            (0...random.below(4)).map { _ in
                let known = ids.isEmpty ? nil : random.element(Array(ids.suffix(40)))
                let isNew = random.chance(0.9)
                let id = isNew ? EntryID.random(using: &random) : known ?? .random(using: &random)
                ids.append(id)
                let change: MessageChange<EntryID>? = known.flatMap { target in
                    switch random.below(10) {
                    case 0: .edits(target)
                    case 1: .deletes(target)
                    default: nil
                    }
                }
                var body = Array("\"\(ids.count)\"".utf8)
                if case .deletes = change { body = Array("null".utf8) }
                return .init(channel: channel, id: id, change: change, body: body)
            }
        }
    }

    @Test("A message in the journal carries its sender, and not the rights that its gateway saw")
    func intents() throws {
        let owner = NewMessage(
            channel: channel(), id: .random(), from: try UserID("ada"), mayChangeOthers: true,
            body: [0x31])
        var admin = owner
        admin.isAdmin = true
        let commands = ClusterLog.commands(for: [owner, admin])
        let authors = commands.compactMap { command -> Principal? in
            if case .publish(let publish) = command { publish.who } else { nil }
        }
        #expect(authors.map(\.isAdmin) == [false, true])
    }

    @Test(
        "The same commands through two gateways and on one server have the same results",
        arguments: [UInt64(1), 2, 3, 4])
    func differential(_ seed: UInt64) async throws {
        try await Self.run(seed: seed) { store in
            var works = (0..<2).map { Work(random: SeededGenerator(seed: seed * 2 + UInt64($0))) }
            var refused = 0
            for round in 0..<20 {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for index in 0..<2 {
                        for _ in 0..<5 {
                            let commands = try (0..<3).map { _ in try works[index].command() }
                            let replica = store.gateways[index].replica
                            group.addTask {
                                try await replica.submit(commands).count {
                                    if case .refused = $0 { true } else { false }
                                }
                            }
                        }
                    }
                    for try await count in group { refused += count }
                }
                if round % 7 == 6 { try await store.reopen() }
            }
            #expect(refused > 20, "some of it was refused")
            try await store.expectEqual()
            let (made, single) = (
                try Self.tables(store.gateways[1].view.dump()),
                try await Self.replay(store.journal.entries, in: store.folder.path + "/single")
            )
            #expect(made == single)
        }
    }

    /// The rows that a single server has too.
    private static func tables(_ dump: [String]) -> [String] {
        dump.filter { line in
            [
                "channel", "message", "awaited", "channels", "members", "positions", "devices",
                "device_positions", "mutes",
            ].contains { line.hasPrefix($0 + " ") }
        }
    }

    /// Performs what counts of a journal on the stores of a single server.
    private static func replay(_ entries: [StoredEntry], in path: String) async throws -> [String] {
        let log = try SQLiteMessageLog.open(at: path)
        let accounts = try Accounts.open(at: path, implicitChannels: true) { name in
            try log.head(of: name)
        }
        var admission = AdmissionMachine()
        for stored in entries {
            let admitted = try admission.admit(stored)
            guard admitted.disposition == .accepted else { continue }
            for command in admitted.entry?.commands ?? [] {
                switch command {
                case .account(let command):
                    try await perform(command, accounts, at: admitted.time)
                case .publish(let publish):
                    var batch: [NewMessage] = []
                    for message in publish.messages {
                        let grant = try await accounts.grant(publish.who, in: message.channel)
                        guard grant.mayPublish else { continue }
                        batch.append(
                            NewMessage(
                                message, from: publish.who.user,
                                mayChangeOthers: grant.mayManage))
                    }
                    _ = try log.stepped.append(batch, now: admitted.time)
                case .nop, .session, .hello, .trim, .lease, .beginPushing, .pushed, .mark, .hashed,
                    .checked, .stuck, .forgetIDs, .rules:
                    break
                }
            }
        }
        let lines = try log.stepped.dump()
        await log.close()
        await accounts.close()
        let queue = try DatabaseQueue(path: path + "/accounts.sqlite")
        let rows = try await queue.read { db in
            try [
                "channels", "members", "positions", "device_positions", "devices", "mutes",
            ].flatMap { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { "\(table) \($0)" }
                    .sorted()
            }
        }
        try queue.close()
        return tables(lines + rows)
    }

    private static func perform(
        _ command: some JournaledCommand, _ accounts: Accounts, at time: WallTime
    ) async throws {
        do {
            _ = try await accounts.perform(command, at: time)
        } catch let error as RepriseError where [.refused, .full].contains(error.code) {
            // It was refused there too: the tables show it.
        }
    }

    // MARK: Views

    @Test("A view that is deleted is made anew from the journal, and is the same")
    func deletedView() async throws {
        try await Self.run { store in
            let room = try ChannelName("room")
            try await store.fill(room, 300)
            try await store.expectEqual()
            let before = try Self.tables(store.gateways[1].view.dump())
            await store.close()
            try FileManager.default.removeItem(atPath: store.path(1))
            try await store.reopen()
            try await store.expectEqual()
            // Where it stands may have moved: a copy of an entry may still have come.
            #expect(try Self.tables(store.gateways[1].view.dump()) == before)
        }
    }

    @Test("A view of another journal is refused with an error that says what to do")
    func otherJournal() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        await (try ClusterView.open(at: folder.path, epoch: try Epoch("e1"))).close()
        expectError(.badConfiguration) {
            _ = try ClusterView.open(at: folder.path, epoch: try Epoch("e2"))
        }
    }

    @Test("A view of another cluster is told from one of a journal that was made anew, by its name")
    func otherCluster() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let (chat, caht) = (try ClusterName("chat"), try ClusterName("caht"))
        let epoch = try Epoch("e1")
        await (try ClusterView.open(at: folder.path, epoch: epoch, of: chat)).close()
        // Also with the same epoch: a folder may have been moved into two clusters.
        let misspelt = expectError(.badConfiguration) {
            _ = try ClusterView.open(at: folder.path, epoch: epoch, of: caht)
        }
        #expect(misspelt?.message.contains("of the cluster chat, and --cluster is caht") == true)
        #expect(misspelt?.remedy?.hasPrefix("Check the spelling first.") == true)
        let anew = expectError(.badConfiguration) {
            _ = try ClusterView.open(at: folder.path, epoch: try Epoch("e2"), of: chat)
        }
        #expect(anew?.message.contains("made anew or restored") == true)
        // Of an earlier version, that has noted no name.
        try FileManager.default.removeItem(atPath: folder.path + "/view.cluster")
        let unnamed = expectError(.badConfiguration) {
            _ = try ClusterView.open(at: folder.path, epoch: try Epoch("e2"), of: caht)
        }
        #expect(unnamed?.remedy?.hasPrefix("Check the spelling of --cluster") == true)
        await (try ClusterView.open(at: folder.path, epoch: epoch, of: chat)).close()
    }

    @Test("a view does not begin beside a single server's log, nor a log beside a view")
    func otherServer() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        await (try SQLiteMessageLog.open(at: folder.path)).close()
        expectError(.badConfiguration) {
            _ = try ClusterView.open(at: folder.path, epoch: try Epoch("e1"))
        }
        #expect(!folder.names.contains("view.sqlite"))
        folder.remove()
        await (try ClusterView.open(at: folder.path, epoch: try Epoch("e1"))).close()
        expectError(.badConfiguration) { _ = try SQLiteMessageLog.open(at: folder.path) }
        #expect(!folder.names.contains("messages.sqlite"))
    }

    @Test("A publish is decided by the grants at its place in the journal")
    func grants() async throws {
        try await Self.run { store in
            let room = try ChannelName("private")
            let (ada, bob) = (try UserID("ada"), try UserID("bob"))
            let (owner, member) = (Principal(user: ada), Principal(user: bob))
            let settings = ChannelSettings(visibility: .private)
            let publish = { (who: Principal) in
                ClusterCommand.publish(
                    PublishMessages([.init(channel: room, id: .random(), body: [49])], by: who))
            }
            let outcomes = try await store.gateways[0].replica.submit([
                .account(SetChannel(room, settings, by: owner)), publish(member),
                .account(SetMember(bob, .member, in: room, by: owner)), publish(member),
                .account(RemoveMember(bob, from: room, by: owner)), publish(member),
                publish(owner),
            ])
            let stored = outcomes.compactMap { outcome -> Bool? in
                guard case .published(let results) = outcome else { return nil }
                return results.first?.event != nil
            }
            #expect(stored == [false, true, false, true])
        }
    }

    @Test("A publish on an older connection of a device is refused at every gateway")
    func fence() async throws {
        try await Self.run { store in
            let ada = try UserID("ada")
            let phone = ConnectingDevice(user: ada, device: .random())
            let hello = { (gateway: Int) in
                let outcomes = try await store.gateways[gateway].replica.submit([.hello(phone)])
                guard case .arrived(let arrival, nil)? = outcomes.first else {
                    throw RepriseError(.internal, "A hello came to \(outcomes).")
                }
                return FencingToken(device: phone.device, generation: arrival.generation)
            }
            let publish = { (gateway: Int, fence: FencingToken?) in
                let message = NewMessage(
                    channel: try ChannelName("one"), id: .random(), from: ada, body: [49])
                let fenced = NewMessage(message.publish, from: ada, fence: fence)
                return try await store.gateways[gateway].log.append([fenced]).first?.event != nil
            }
            let first = try await hello(0)
            #expect(try await publish(0, first))
            #expect(
                try await publish(1, first), "what is fenced is the connection, not the gateway")
            let second = try await hello(1)
            #expect(second.generation > first.generation)
            #expect(try await publish(0, first) == false)
            #expect(try await publish(0, second))
            #expect(try await publish(0, nil), "HTTP has no connection that could be older")
            let stranger = FencingToken(device: .random(), generation: first.generation)
            #expect(try await publish(0, stranger) == false)
            try await store.expectEqual()
        }
    }

    @Test(
        "The device that connected least recently is forgotten, and its connection ends",
        .limit("cluster.devices"))
    func forgotten() async throws {
        #expect(ClusterLimits.devices == 1_048_576)
        var configuration = ClusterStore.configuration
        configuration.devices = 3
        try await Self.run(configuration: configuration) { store in
            var forgotten: [Arrival] = []
            var last: Arrival?
            for name in ["a", "b", "a", "c", "d", "e"] {
                let device = ConnectingDevice(user: nil, device: try EntryID(name))
                let outcomes = try await store.gateways[0].replica.submit([.hello(device)])
                guard case .arrived(let arrival, let ended)? = outcomes.first else { continue }
                last = arrival
                if let ended {
                    forgotten.append(ended)
                    #expect(ended.generation == arrival.generation)
                }
            }
            #expect(forgotten.map(\.device.device.text) == ["b", "a"])
            #expect(last?.device.device.text == "e")
            try await store.expectEqual()
        }
    }

    @Test(
        "A lease has one holder, whose requests are refused once it ends", .limit("cluster.lease"))
    func leases() async throws {
        try await Self.run { store in
            func ask(_ gateway: Int, _ operation: LeaseRequest.Operation) async throws -> Int64? {
                let request = LeaseRequest(.housekeeping, by: Int64(gateway + 1), operation)
                let outcome = try await store.gateways[gateway].replica.submit([.lease(request)])
                guard case .leased(let grant)? = outcome.first else {
                    throw RepriseError(.internal, "A request came to \(outcome).")
                }
                return grant
            }
            func trims(_ gateway: Int, _ grant: Int64) async throws -> Bool {
                let command = ClusterCommand.trim(
                    try ChannelName("one"), through: 1, grant: grant)
                let outcome = try await store.gateways[gateway].replica.submit([command])
                if case .trimmed? = outcome.first { return true }
                return false
            }
            let first = try #require(try await ask(0, .claim))
            #expect(try await ask(1, .claim) == nil)
            #expect(try await ask(1, .renew(grant: first)) == nil, "the grant alone is not enough")
            #expect(try await trims(0, first))
            store.advance(by: .seconds(19))
            #expect(try await ask(1, .claim) == nil)
            #expect(try await ask(0, .renew(grant: first)) == first)
            store.advance(by: .seconds(19))
            #expect(try await ask(1, .claim) == nil, "it was renewed")
            store.advance(by: .seconds(1))
            let second = try #require(try await ask(1, .claim))
            #expect(try await trims(0, first) == false)
            #expect(try await ask(0, .renew(grant: first)) == nil)
            #expect(try await ask(0, .release(grant: second)) == nil)
            #expect(try await trims(1, second))
            #expect(try await ask(1, .release(grant: second)) == nil)
            #expect(try await ask(0, .claim) != nil, "what was given back is free at once")
            try await store.expectEqual()
            let held = store.gateways[0].view.lease(.housekeeping)
            try await store.reopen()
            #expect(store.gateways[1].view.lease(.housekeeping) == held)
            #expect(held?.holder == 1)
        }
    }

    @Test(
        "Ids are forgotten at all gateways at the same place, and known as long as on a single server",
        .limit("log.ids"))
    func forgottenIDs() async throws {
        var configuration = ClusterStore.configuration
        configuration.log.idsPerRun = 16
        try await Self.run(configuration: configuration) { store in
            let room = try ChannelName("room")
            let messages = (0..<40).map { _ in message(room) }
            for message in messages { _ = try await store.append([message]) }
            _ = try await store.log.trim(room, through: 30)
            let now = WallTime(milliseconds: 1_800_000_000_000)  // by the journal's clock
            let life = Duration.seconds(30 * 86_400)
            func known() async throws -> [Bool] {
                try await store.append([messages[0], messages[20]]).map { $0.event == nil }
            }
            func sealed() async throws -> [[String]] {
                try await store.expectEqual()
                return try store.gateways.map { gateway in
                    try gateway.view.dump().filter {
                        $0.hasPrefix("run ") || $0.hasPrefix("id 1 ")
                    }
                }
            }
            try await store.log.trim(RetentionPolicy(), now: now.advanced(by: life - .seconds(60)))
            #expect(try await sealed().map(\.count) == [17, 17], "a run of 16")
            #expect(try await known() == [true, true])
            // Who does not have the lease forgets nothing.
            let replica = store.gateways[0].replica
            let outdated = try await replica.submit([.forgetIDs(run: 1, grant: 1)])
            guard case .refused? = outdated.first else {
                Issue.record("\(outdated)")
                return
            }
            #expect(try await sealed().map(\.count) == [17, 17])
            try await store.log.trim(RetentionPolicy(), now: now.advanced(by: life + .seconds(60)))
            #expect(try await sealed().map(\.count) == [0, 0])
            #expect(try await known() == [false, true])
            try await store.reopen()
            try await store.expectEqual()
        }
    }

    @Test("A gateway that lost the push lease cannot change the state of pushes")
    func pushProgress() async throws {
        try await Self.run { store in
            let (ada, phone) = (try UserID("ada"), try EntryID("phone"))
            let channel = try ChannelName("one")
            let accounts = store.gateways[0].accounts
            let owner = Principal(user: ada)
            try await accounts.perform(SetChannel(channel, ChannelSettings(), by: owner))
            try await accounts.perform(
                SetDevice(phone, of: ada, platform: nil, pushToken: try PushToken("ab")))
            try await store.fill(channel, 3)
            let replica = store.gateways[0].replica
            let outcome = try await replica.submit([.lease(LeaseRequest(.apns, by: 1, .claim))])
            guard case .leased(let grant?)? = outcome.first else {
                Issue.record("no lease: \(outcome)")
                return
            }
            for isCurrent in [false, true] {
                let grant = isCurrent ? grant : grant + 1
                var progress = PushProgress(.apns, by: grant)
                progress.marks = [.init(user: ada, device: phone, channel: channel, seq: 3)]
                progress.invalid = [.init(user: ada, device: phone, text: "ab", since: nil)]
                let outcomes = try await replica.submit([
                    .beginPushing(.apns, grant: grant), .pushed(progress),
                ])
                for outcome in outcomes {
                    if case .refused = outcome { #expect(!isCurrent) } else { #expect(isCurrent) }
                }
                let rows = try store.gateways[1].view.dump().count { $0.hasPrefix("pushed_") }
                let devices = try await store.gateways[0].accounts.devices.all(of: ada)
                #expect(devices.first?.pushToken == (isCurrent ? nil : try PushToken("ab")))
                #expect(isCurrent || rows == 0)
            }
            var progress = PushProgress(.apns, by: grant)
            progress.done = [.init(channel: channel, through: 3)]
            _ = try await replica.submit([.pushed(progress)])
            try await store.expectEqual()
            let rows = try store.gateways[1].view.dump().filter { $0.hasPrefix("pushed_") }
            #expect(rows.count == 2, "the mark is behind what is done: \(rows)")
        }
    }

    @Test("Where more channels have progressed than a note holds, the furthest are noted first")
    func progressOrder() async throws {
        try await Self.run { store in
            let (one, two) = (try ChannelName("one"), try ChannelName("two"))
            let accounts = store.gateways[0].accounts
            let owner = Principal(user: try UserID("ada"))
            for channel in [one, two] {
                try await accounts.perform(SetChannel(channel, ChannelSettings(), by: owner))
            }
            try await accounts.pushQueue.scans.begin(.apns) { $0 == one ? 1 : 2 }
            let done = try await accounts.pushQueue.done(.apns, limit: 1)
            #expect(done == [.init(channel: two, through: 2)])
        }
    }

    @Test("A change of accounts at one gateway is reported at the other, in order")
    func effects() async throws {
        try await Self.run { store in
            let room = try ChannelName("private")
            let (ada, bob) = (try UserID("ada"), try UserID("bob"))
            let owner = Principal(user: ada)
            let heard = Mutex<[UserID?]>([])
            store.gateways[1].accounts.onAccessChanged { channel, user in
                if channel == room { heard.withLock { $0.append(user) } }
            }
            let accounts = store.gateways[0].accounts
            let made = try await accounts.perform(
                SetChannel(room, ChannelSettings(visibility: .private), by: owner))
            #expect(made.isNew)
            try await store.fill(room, 3)
            let member = try await accounts.perform(SetMember(bob, .member, in: room, by: owner))
            #expect(member.member.joined == 3)
            try await accounts.perform(RemoveMember(bob, from: room, by: owner))
            await expectError(.refused) {
                try await accounts.perform(
                    SetMember(bob, .owner, in: room, by: Principal(user: bob)))
            }
            await expectError(.tooLarge) {
                let title = String(repeating: "a", count: AccountLimits.titleBytes + 1)
                try await accounts.perform(
                    SetChannel(room, ChannelSettings(title: title), by: owner))
            }
            try await store.expectEqual()
            // An entry is told after it is in the view.
            try await becomes("what is heard", [nil, bob, bob]) { heard.withLock { $0 } }
            #expect(try await store.gateways[1].accounts.memberCount(of: room) == 1)
        }
    }

    // MARK: Faults of the journal

    @Test("A gateway that comes back to a journal that was filled anew stops")
    func filledAnew() async throws {
        try await Self.run { store in
            let room = try ChannelName("room")
            try await store.fill(room, 40)
            try await store.expectEqual()
            let last = store.gateways[1].view.position.sequence
            await store.close()
            // The journal has lost its end; one gateway has lost its view too, and stores on.
            store.journal.change { $0.goBack(to: last / 2) }
            try FileManager.default.removeItem(atPath: store.path(0))
            let first = try store.open(0)
            while first.view.position.sequence <= last + 5 {
                _ = try await first.log.append([message(room)])
            }
            let second = try store.open(1)
            let error = await second.ended() as? RepriseError
            #expect(error?.code == .corrupt && error?.remedy?.isEmpty == false)
            #expect(second.view.position.sequence == last, "nothing of the other journal")
            await first.stop()
            await second.stop()
        }
    }

    @Test(
        "A journal that went back stops a gateway that has applied more, and no wrong data is served"
    )
    func wentBack() async throws {
        try await Self.run { store in
            let room = try ChannelName("room")
            try await store.fill(room, 10)
            try await store.expectEqual()
            // One has stopped; the other stores on, over a journal that lost its end.
            await store.gateways[1].stop()
            let last = store.gateways[0].view.position.sequence
            store.journal.change { $0.goBack(to: last - 1) }
            store.journal.change {
                $0.send(ClusterEntryTests.entry([.nop]).bytes, at: SystemTimekeeper().uptime())
            }
            let error = await store.gateways[0].ended() as? RepriseError
            #expect(error?.code == .corrupt && error?.remedy?.isEmpty == false)
            await #expect(throws: RepriseError.self) { try await store.fill(room, 1) }
            await store.close()
        }
    }

    /// Found in virtual time: its own entry was the next behind what it had applied, and so it
    /// acknowledged what all others ignored.
    @Test(
        "A gateway that starts behind another's entries compares histories before it stores anything"
    )
    func startsBehindOthers() async throws {
        try await Self.run { store in
            let room = try ChannelName("room")
            try await store.fill(room, 10)
            try await store.expectEqual()
            let last = store.gateways[1].view.position.sequence
            await store.close()
            store.journal.change { journal in
                journal.faults = .none
                journal.goBack(to: last - 1)
                journal.send(
                    ClusterEntryTests.entry([.nop]).bytes, at: SystemTimekeeper().uptime())
            }
            try await eventually("the journal is as long as before") {
                store.journal.entries.count == Int(last)
            }
            let gateway = try store.open(1)
            await #expect(throws: RepriseError.self) {
                try await gateway.log.append([message(room)])
            }
            let error = await gateway.ended() as? RepriseError
            #expect(error?.code == .corrupt && error?.remedy?.isEmpty == false)
            #expect(gateway.view.position.sequence == last)
            await gateway.stop()
        }
    }

    /// A journal that can be cut off from one gateway, but for what that sends.
    private final class DeafJournal: ClusterJournal {
        private let shared: SharedJournal
        private let isDeaf = Atomic(false)
        private let isLosing = Atomic(false)
        private let lost = Atomic(0)
        private let connections = Atomic<UInt64>(0)

        /// How many entries were not heard.
        var missed: Int { lost.load(ordering: .relaxed) }

        init(_ journal: MemoryJournal) { shared = SharedJournal(journal: journal) }

        func hears(_ hears: Bool) { isDeaf.store(!hears, ordering: .relaxed) }

        /// Whether it also loses what that sends, as while no node leads.
        func loses(_ loses: Bool) { isLosing.store(loses, ordering: .relaxed) }

        /// Its connection is another one.
        func reconnect() { connections.add(1, ordering: .relaxed) }

        var connectionNumber: UInt64? { connections.load(ordering: .relaxed) }
        var epoch: Epoch { shared.epoch }
        func send(_ bytes: [UInt8]) async {
            if !isLosing.load(ordering: .relaxed) { await shared.send(bytes) }
        }
        func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) {
            shared.follow { [self] entry in
                if entry != nil, isDeaf.load(ordering: .relaxed) {
                    lost.add(1, ordering: .relaxed)
                } else {
                    heard(entry)
                }
            }
        }
        func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
            guard !isDeaf.load(ordering: .relaxed) else {
                throw RepriseError(.unreachable, "It is cut off.")
            }
            return try await shared.read(after: sequence)
        }
        func status() async throws -> JournalStatus { try await shared.status() }
        func close() async {}
    }

    /// A gateway that is alone with its journal, and hears of it no more.
    private struct Deaf {
        let clock: ManualClock
        let journal: DeafJournal
        let view: ClusterView
        let log: ClusterLog
        let running: Task<Void, any Error>

        /// It finds out, and has applied so much.
        func stops(in room: ChannelName, at sequence: Int64) async {
            await expectError(.corrupt) { _ = try await log.append([message(room)]) }
            await expectError(.corrupt) { try await running.value }
            #expect(view.position.sequence == sequence)
            await view.close()
        }
    }

    /// It has compared what it had when it started, and has stored one message since.
    private static func deaf(_ store: ClusterStore, _ room: ChannelName) async throws -> Deaf {
        try await store.fill(room, 10)
        try await store.expectEqual()
        await store.close()
        let clock = ManualClock()
        let journal = DeafJournal(store.journal)
        let view = try ClusterView.open(
            at: store.path(1), epoch: journal.epoch, ClusterStore.configuration)
        let replica = ClusterReplica(view: view, journal: journal, clock: clock)
        let log = ClusterLog(view, by: replica)
        let running = Task { try await replica.run() }
        let first = Task { try await log.append([message(room)]) }
        try await clock.advance(by: .milliseconds(100)) { try log.head(of: room) == 11 }
        _ = try await first.value
        journal.hears(false)
        return Deaf(clock: clock, journal: journal, view: view, log: log, running: running)
    }

    @Test("An entry that somebody else wrote in a gateway's turn is no answer to its messages")
    func otherTurn() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let view = try ClusterView.open(
            at: folder.path, epoch: Epoch("e"), ClusterStore.configuration)
        let log = ClusterLog(view) { _ in [.published([])] }
        await expectError(.internal) { _ = try await log.append([message(channel())]) }
        await view.close()
    }

    @Test(
        "After a silence or a new connection a gateway compares histories before it applies its own entry",
        .limit("cluster.confirmed"), arguments: [false, true])
    func ownBehindOthers(isReconnected: Bool) async throws {
        #expect(ClusterLimits.confirmedWithin == .seconds(2))
        try await Self.run(faults: .none) { store in
            let room = try ChannelName("room")
            let deaf = try await Self.deaf(store, room)
            let (journal, last) = (deaf.journal, deaf.view.position.sequence)
            // The journal loses its end, and others store on until it is as long as before.
            store.journal.change { journal in
                journal.goBack(to: last - 3)
                for _ in 0..<3 {
                    journal.send(
                        ClusterEntryTests.entry([.nop]).bytes, at: SystemTimekeeper().uptime())
                }
            }
            try await eventually("none of them is heard") { journal.missed == 3 }
            #expect(store.journal.entries.count == Int(last))
            if isReconnected { journal.reconnect() } else { deaf.clock.advance(by: .seconds(3)) }
            journal.hears(true)
            await deaf.stops(in: room, at: last)
        }
    }

    @Test("What a gateway sent while no node led is sent again as soon as one answers")
    func newLeader() async throws {
        try await Self.run(faults: .none) { store in
            let room = try ChannelName("room")
            let deaf = try await Self.deaf(store, room)
            deaf.journal.loses(true)
            let storing = Task { try await deaf.log.append([message(room)]) }
            // It was sent again three times, and will be in 0.8 s.
            let began = deaf.clock.uptime()
            try await deaf.clock.advance(by: .milliseconds(100)) {
                deaf.clock.uptime() - began >= .milliseconds(3_200)
            }
            deaf.journal.loses(false)
            deaf.journal.hears(true)
            try await deaf.clock.advance(by: .milliseconds(100)) {
                try deaf.log.head(of: room) == 12
            }
            #expect(deaf.clock.uptime() - began < .milliseconds(3_800))
            _ = try await storing.value
            deaf.running.cancel()
            await deaf.view.close()
        }
    }

    @Test("A gateway finds a fork that it did not notice, even after it has stored more entries")
    func forkFarBack() async throws {
        try await Self.run(faults: .none) { store in
            let room = try ChannelName("room")
            // Its clock stands still, so that what was compared counts as compared a moment ago.
            let deaf = try await Self.deaf(store, room)
            let (journal, last) = (deaf.journal, deaf.view.position.sequence)
            func sendForeign() {
                store.journal.change { journal in
                    journal.send(
                        ClusterEntryTests.entry([.nop]).bytes, at: SystemTimekeeper().uptime())
                }
            }
            store.journal.change { $0.goBack(to: last - 1) }
            sendForeign()
            try await eventually("it is not heard") { journal.missed == 1 }
            journal.hears(true)
            // Its own entries are the next ones, to itself alone.
            for _ in 0..<40 { _ = try await deaf.log.append([message(room)]) }
            #expect(deaf.view.position.sequence == last + 40)
            // Another one's shows that they stand on another past.
            sendForeign()
            try await eventually("it is stored") {
                store.journal.entries.count == Int(last) + 41
            }
            await deaf.stops(in: room, at: last + 40)
        }
    }

    @Test("Where the newest applied entry is lost, gateways wait before the next, and name it")
    func missingBehind() async throws {
        try await Self.run(faults: .none) { store in
            let room = try ChannelName("room")
            try await store.fill(room, 3)
            try await store.expectEqual()
            let last = store.gateways[0].view.position.sequence
            store.journal.change { $0.missing = [last] }
            // Until what was compared no longer counts.
            try await Task.sleep(for: ClusterLimits.confirmedWithin + .milliseconds(200))
            let log = store.gateways[0].log
            let message = message(room)
            let stored = Task { try await log.append([message]) }
            try await eventually("it is named") {
                store.gateways.allSatisfy {
                    $0.replica.problem?.message.hasPrefix("Entry \(last) of the journal is missing")
                        == true
                }
            }
            #expect(store.gateways.allSatisfy { $0.view.position.sequence == last })
            store.journal.change { $0.missing = [] }
            _ = try await stored.value
            try await store.expectEqual()
            #expect(store.gateways.allSatisfy { $0.replica.problem == nil })
        }
    }

    @Test(
        "An entry whose writer has a different history is ignored, once the gateway has compared its own"
    )
    func otherPast() async throws {
        try await Self.run { store in
            let room = try ChannelName("room")
            try await store.fill(room, 5)
            store.journal.failReadings(3)
            store.journal.change {
                $0.faults = .none
                $0.send(ClusterEntryTests.entry([.nop]).bytes, at: SystemTimekeeper().uptime())
            }
            try await store.fill(room, 5)
            try await store.expectEqual()
            #expect(try store.log.head(of: room) == 10)
        }
    }

    @Test(
        "A gateway compares its history as far back as the journal has it, page by page",
        arguments: [1, 40] as [Int64])
    func otherPastOfAShortJournal(kept: Int64) async throws {
        try await Self.run { store in
            let room = try ChannelName("room")
            for _ in 0..<45 { try await store.fill(room, 1) }
            try await store.expectEqual()
            let last = store.gateways[0].view.position.sequence
            store.journal.change {
                $0.faults = .none
                $0.removeEntries(through: last - kept)
                $0.pageEntries = 7
                $0.send(ClusterEntryTests.entry([.nop]).bytes, at: SystemTimekeeper().uptime())
            }
            try await store.fill(room, 5)
            try await store.expectEqual()
            #expect(try store.log.head(of: room) == 50)
        }
    }

    @Test("Entries before a fault are still returned; the fault is thrown by the next call")
    func beforeFault() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let view = try ClusterView.open(at: folder.path, epoch: try Epoch("e"))
        let stamp = WallTime(milliseconds: 1_800_000_000_000)
        let opening = ClusterEntry(
            session: 0, n: 1, clock: stamp, base: .start, commands: [.session(nonce: 1, name: "")])
        let entries = [opening.bytes, ClusterEntryTests.later].enumerated().map {
            StoredEntry(sequence: Int64($0.offset) + 1, stamp: stamp, bytes: $0.element)
        }
        #expect(try view.apply(entries).map(\.sequence) == [1])
        #expect(throws: AdmissionMachine.Fault.self) { try view.apply([entries[1]]) }
        #expect(view.position.sequence == 1)
        await view.close()
    }

    @Test("A gateway waits before an entry of a later version, and reports it at each start")
    func laterVersion() async throws {
        try await Self.run { store in
            try await store.fill(try ChannelName("room"), 3)
            try await store.expectEqual()
            store.journal.change {
                $0.faults = .none
                $0.send(ClusterEntryTests.later, at: SystemTimekeeper().uptime())
            }
            for isAgain in [false, true] {
                if isAgain { try await store.reopen() }
                for gateway in store.gateways {
                    try await eventually("it says so") { gateway.replica.problem != nil }
                    let error = gateway.replica.problem
                    #expect(error?.code == .unknownKind)
                    #expect(error?.remedy?.hasPrefix("Upgrade this gateway.") == true)
                    let refused = await expectError(.unavailable) {
                        _ = try await gateway.log.append([message(try ChannelName("room"))])
                    }
                    #expect(refused?.remedy == error?.remedy)
                    // What stands before it is applied and served.
                    #expect(try gateway.log.head(of: try ChannelName("room")) == 3)
                }
            }
            await store.close()
        }
    }
}
