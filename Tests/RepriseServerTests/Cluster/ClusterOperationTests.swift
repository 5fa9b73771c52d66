import Foundation
import GRDB
import Logging
import RepriseCluster
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// What an operator's commands do, in the process, on a real nats-server.
@Suite("Operating a cluster", .timeLimit(.minutes(1)))
struct ClusterOperationTests {
    /// A member, and what keeps it going.
    private struct Running {
        let member: ClusterMember
        let following: Task<Void, any Error>

        func stop() async {
            following.cancel()
            _ = await following.result
            await member.close()
        }
    }

    private static func start(
        _ journal: any ClusterJournal, at path: String, name: String = "",
        _ configuration: ClusterView.Configuration = .init(),
        clock: any Timekeeper = SystemTimekeeper()
    ) async throws -> Running {
        let member = try await ClusterMember.join(
            journal, at: path, name: name, implicitChannels: true, configuration, clock: clock,
            logger: RunningServer.logger)
        let following = Task {
            try await member.replica.run { member.applied($0, isOwn: $1) }
        }
        return Running(member: member, following: following)
    }

    private func withServer(
        _ body: (NatsServer, TemporaryFolder) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
        defer { server.kill() }
        try await body(server, folder)
    }

    private static func message(_ text: String) throws -> NewMessage {
        NewMessage(
            channel: try ChannelName("general"), id: .random(), body: Array("\"\(text)\"".utf8))
    }

    /// Equal at the journal's end, whatever is still written meanwhile.
    private static func expectEqual(_ one: ClusterMember, _ other: ClusterMember) async throws {
        try await eventually("both have the same") {
            try one.view.dump() == other.view.dump()
        }
    }

    // MARK: Moving in

    private static func people(_ db: Database) throws -> [String] {
        try ["channels", "members", "devices", "mutes", "device_positions"].flatMap { table in
            try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { "\($0)" }
        }
    }

    @Test("A moved server's rows, ids and waiting pushes are all in the cluster")
    func seed() async throws {
        try await withServer { server, folder in
            let data = folder.path("data")
            let log = try SQLiteMessageLog.open(at: data)
            let accounts = try Accounts.open(
                at: data, implicitChannels: true, heads: { try log.head(of: $0) })
            let epoch = try log.stepped.dump()[0].replacing("log ", with: "")
            try accounts.belong(to: try Epoch(epoch), isRestored: false)
            let (room, ada) = (try ChannelName("room"), try UserID("ada"))
            let owner = Principal(user: ada)
            try await accounts.perform(SetChannel(room, ChannelSettings(title: "Room"), by: owner))
            try await accounts.perform(SetMember(try UserID("bob"), .member, in: room, by: owner))
            try await accounts.perform(
                SetDevice(
                    try EntryID("phone"), of: try UserID("bob"), platform: "ios",
                    pushToken: try PushToken("aa")))
            try await accounts.perform(SetMute(Mute(.user(ada)), of: try UserID("bob")))
            _ = try await log.append(
                (1...9).map {
                    NewMessage(
                        channel: room, id: try EntryID("m\($0)"), from: ada, body: [49])
                })
            let before = try log.stepped.dump()
            await accounts.close()
            await log.close()
            // Scanned up to 8; 3 waits, and 4 is pushed.
            let queue = try DatabaseQueue(path: data + "/accounts.sqlite")
            try await queue.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO push_services VALUES ('apns');
                        INSERT INTO push_walks (service, channel, through) VALUES ('apns', 'room', 8);
                        INSERT INTO push_queue
                        (service, due, user, device, kind, channel, seq, expires)
                        VALUES ('apns', 1, 'bob', 'phone', 'alert', 'room', 3, 9);
                        INSERT INTO device_positions (user, device, channel, delivered, pushed)
                        VALUES ('bob', 'phone', 'room', 0, 4);
                        """)
            }
            let people = try await queue.read { try Self.people($0) }
            try queue.close()

            let told = Mutex<[ClusterSeed.Progress]>([])
            var settings = NatsJournal.Settings()
            settings.implicitChannels = true
            settings.maxBytes = 256 << 20
            let moved = try await NatsJournal.seed(
                NatsConfiguration(server.url), cluster: ClusterName("tests"), settings, from: data,
                logger: RunningServer.logger
            ) { step in told.withLock { $0.append(step) } }
            #expect(!moved.wasThere && moved.report.messages == 9)
            let steps = told.withLock { $0 }
            #expect(steps.first == .copying && steps.last == .checking)
            let one = try await Self.start(
                try await NatsStore.journal(server.url), at: folder.path("one"))
            try await one.member.barrier.pass()
            #expect(try one.member.view.log.stepped.dump() == before)
            let dump = try one.member.view.dump()
            #expect(people.count == 6)
            #expect(people.allSatisfy { row in dump.contains { $0.hasSuffix(row) } })
            #expect(dump.contains { $0.hasPrefix("pushed_channels") && $0.contains("through:2") })
            let pushed = dump.filter { $0.hasPrefix("pushed_messages") }
            #expect(pushed.count == 1 && pushed.first?.contains("seq:4") == true, "\(pushed)")
            // The same id again is still known.
            let again = NewMessage(channel: room, id: try EntryID("m5"), from: ada, body: [49])
            #expect(try await one.member.log.append([again]) == [.duplicate(seq: 5)])
            let two = try await Self.start(
                try await NatsStore.journal(server.url), at: folder.path("two"))
            try await two.member.barrier.pass()
            try await Self.expectEqual(one.member, two.member)

            // And back.
            let journal = try await NatsStore.journal(server.url)
            _ = try await ClusterExport.run(
                journal, to: folder.path("back"), implicitChannels: true,
                seal: { try await journal.seal() }
            ) { _ in }
            await journal.close()
            let back = try SQLiteMessageLog.open(at: folder.path("back"))
            #expect(try back.stepped.dump() == before)
            await back.close()
            let after = try DatabaseQueue(path: folder.path("back") + "/accounts.sqlite")
            let found = try await after.read { try Self.people($0) }
            #expect(found == people)
            let walks = try await after.read {
                try Int.fetchOne($0, sql: "SELECT through FROM push_walks WHERE channel = 'room'")
            }
            #expect(walks == 2)
            try after.close()
            await one.stop()
            await two.stop()
        }
    }

    @Test(
        "A base with more bytes than its manifest can describe is refused",
        .limit("cluster.baseBytes"))
    func baseBytes() async throws {
        #expect(ClusterLimits.basePieces == 24_576 && ClusterLimits.basePiece == 768 << 10)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let journal = MemoryJournal(
            seed: 1, readers: 1, stamps: SystemTimekeeper(), faults: .none, keepsBases: true)
        defer { journal.close() }
        let file = folder.url.appending(path: "view")
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 24_576 * (768 << 10) + 1)
        try handle.close()
        let store = try #require(journal.store)
        await expectError(.tooLarge) {
            _ = try await store.upload(
                file, BaseManifest(position: .start, time: WallTime(milliseconds: 0), content: []))
        }
        let isEmpty = journal.kept.withLock { $0.isEmpty }
        #expect(isEmpty)
    }

    // MARK: What cannot be applied

    private static var poisoned: ClusterView.Configuration {
        var configuration = ClusterView.Configuration()
        configuration.onApply = { entry in
            guard entry.bytes.contains(0x7e) else { return }
            let text = String(decoding: entry.bytes, as: UTF8.self)
            guard text.contains("~poison~") else { return }
            throw RepriseError(.internal, "No gateway can, as the test wants.")
        }
        return configuration
    }

    @Test(
        "A skipped entry changes nothing at any gateway, also after a restart"
    )
    func skip() async throws {
        try await withServer { server, folder in
            let one = try await Self.start(
                try await NatsStore.journal(server.url), at: folder.path("one"), name: "one",
                Self.poisoned)
            let two = try await Self.start(
                try await NatsStore.journal(server.url), at: folder.path("two"), name: "two",
                Self.poisoned)
            _ = try await one.member.log.append([try Self.message("before")])
            let poison = try Self.message("~poison~")
            let bad = Task { try await one.member.log.append([poison]) }
            try await eventually("both say so") {
                one.member.problem != nil && two.member.problem != nil
            }
            await expectError(.unavailable) { _ = try await bad.value }
            // Who asks while it stands still hears it at once.
            let error = await expectError(.unavailable) {
                _ = try await two.member.log.append([try Self.message("meanwhile")])
            }
            let stuck = one.member.view.position.sequence + 1
            #expect(error?.message.contains("Entry \(stuck)") == true, "\(error as Any)")
            let tool = try await NatsJournal.find(
                NatsConfiguration(server.url), cluster: ClusterName("tests"),
                logger: RunningServer.logger)
            try await eventually("both have reported it") {
                let found = try await ClusterInspection.look(
                    NatsConfiguration(server.url), cluster: ClusterName("tests"),
                    logger: RunningServer.logger)
                return found.stuck.map(\.name).sorted() == ["one", "two"]
                    && found.stuck.allSatisfy { $0.sequence == stuck }
            }
            await expectError(.refused) { _ = try await tool.unapplied(stuck - 1) }
            try await tool.skip(try await tool.unapplied(stuck))
            await expectError(.refused) { _ = try await tool.unapplied(stuck) }
            try await eventually("both go on") {
                one.member.problem == nil && two.member.problem == nil
            }
            // Who was told that it is unknown sends it again: that stops nobody any more.
            let results = try await two.member.log.append([
                try Self.message("after"), poison, try Self.message("last"),
            ])
            #expect(results.map { $0.event?.seq } == [2, nil, 3], "\(results)")
            guard case .refused(.forbidden, _) = results[1] else {
                Issue.record("\(results[1])")
                return
            }
            try await Self.expectEqual(one.member, two.member)
            // One that is made anew, and could apply it.
            let new = try await Self.start(
                try await NatsStore.journal(server.url), at: folder.path("new"))
            try await new.member.barrier.pass()
            try await Self.expectEqual(new.member, one.member)
            #expect(try !new.member.view.dump().contains { $0.contains("7E706F69736F6E7E") })
            for running in [one, two, new] { await running.stop() }
            await tool.close()
        }
    }

    @Test("A damaged entry that looks like one of a later version is skipped, and all go on")
    func skipUnreadable() async throws {
        try await withServer { server, folder in
            var all: [Running] = []
            for name in ["one", "two"] {
                all.append(
                    try await Self.start(
                        try await NatsStore.journal(server.url), at: folder.path(name), name: name))
            }
            _ = try await all[0].member.log.append([try Self.message("before")])
            try await all[1].member.barrier.pass()
            await all[0].member.journal.send(ClusterEntryTests.later)
            try await eventually("both say so") {
                all.allSatisfy { $0.member.problem?.contains("Upgrade this gateway.") ?? false }
            }
            let stuck = all[0].member.view.position.sequence + 1
            await all[0].stop()
            all[0] = try await Self.start(
                try await NatsStore.journal(server.url), at: folder.path("one"), name: "one")
            // It starts, so that somebody can ask it what it waits for.
            try await all[0].member.catchUp(RunningServer.logger)
            #expect(all[0].member.problem?.contains("Entry \(stuck)") == true)
            let tool = try await NatsJournal.find(
                NatsConfiguration(server.url), cluster: ClusterName("tests"),
                logger: RunningServer.logger)
            try await tool.skip(try await tool.unapplied(stuck))
            try await eventually("both go on") {
                all.allSatisfy { $0.member.problem == nil }
            }
            for running in all {
                _ = try await running.member.log.append([try Self.message("after")])
            }
            try await Self.expectEqual(all[0].member, all[1].member)
            for running in all { await running.stop() }
            await tool.close()
        }
    }

    @Test("The number of entries to skip at a time has a limit", .limit("cluster.skipped"))
    func skippedLimit() async throws {
        #expect(ClusterLimits.skipped == 64)
        try await withServer { server, _ in
            let journal = try await NatsStore.journal(server.url)
            for _ in 0...64 { await journal.send([1]) }
            try await eventually("they are stored") { try await journal.status().last == 65 }
            let entries = try await journal.read(after: 0).entries
            for entry in entries.prefix(64) { try await journal.skip(entry) }
            await expectError(.full) { try await journal.skip(entries[64]) }
            #expect(journal.skipped == Set(entries.prefix(64).map { SkippedEntry($0) }))
            await journal.close()
        }
    }

    @Test(
        "An entry at which the process has died twice is not tried again; those before it are",
        .limit("cluster.deaths"))
    func deaths() async throws {
        #expect(ClusterLimits.deaths == 2)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let stamp = WallTime(milliseconds: 1_800_000_000_000)
        let entries = (1...5).map {
            StoredEntry(sequence: $0, stamp: stamp, bytes: [UInt8($0)])
        }
        let epoch = try Epoch("e")
        /// The folder as it is when a process dies at entry 4: what is copied is what is left.
        func die(_ path: String, _ batch: [StoredEntry]) async throws -> String {
            let left = folder.path("left\(UUID().uuidString)")
            var configuration = ClusterView.Configuration()
            configuration.onApply = { entry in
                guard entry.sequence == 4 else { return }
                try? FileManager.default.copyItem(atPath: path, toPath: left)
            }
            let view = try ClusterView.open(at: path, epoch: epoch, configuration)
            var rest = batch.drop { $0.sequence <= view.position.sequence }
            while !FileManager.default.fileExists(atPath: left), !rest.isEmpty {
                rest = rest.dropFirst(try view.apply(Array(rest)).count)
            }
            await view.close()
            return left
        }
        var path = folder.path("view")
        // Once in a batch, where nobody knows which entry it was; then twice at it alone.
        for _ in 0..<3 { path = try await die(path, entries) }
        let view = try ClusterView.open(at: path, epoch: epoch)
        #expect(view.position.sequence == 3)
        let fault = #expect(throws: AdmissionMachine.Fault.self) {
            try view.apply(Array(entries.dropFirst(3)))
        }
        guard case .poisonous(4, _)? = fault else {
            Issue.record("\(fault as Any)")
            return
        }
        let skipped: Set = [SkippedEntry(entries[3])]
        #expect(try view.apply([entries[3]], skipping: skipped).map(\.sequence) == [4])
        #expect(try view.apply([entries[4]], skipping: skipped).map(\.sequence) == [5])
        await view.close()
    }

    @Test("What was applied last is known at once while the next entry is being applied")
    func askedMeanwhile() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let (isApplying, goOn) = (Seen<Int64>(), DispatchSemaphore(value: 0))
        defer { goOn.signal() }
        var configuration = ClusterView.Configuration()
        configuration.onApply = { entry in
            guard entry.sequence == 2 else { return }
            isApplying.add(entry.sequence)
            goOn.wait()
        }
        let stamp = WallTime(milliseconds: 1_800_000_000_000)
        let entries = (1...2).map {
            StoredEntry(sequence: $0, stamp: stamp, bytes: [UInt8($0)])
        }
        let view = try ClusterView.open(at: folder.path, epoch: Epoch("e"), configuration)
        #expect(try view.apply([entries[0]]).map(\.sequence) == [1])
        let applying = Task { try await onThread { try view.apply([entries[1]]).count } }
        try await eventually("it is being applied") { isApplying.count == 1 }
        let known = Seen<Int64>()
        let asking = Task {
            try await onThread {
                _ = (view.rules, view.time, view.lease(.base), view.writers(within: .seconds(1)))
                known.add(view.position.sequence)
            }
        }
        try await eventually("it is known", within: .seconds(10)) { known.all == [1] }
        try await asking.value
        goOn.signal()
        #expect(try await applying.value == 1)
        #expect(view.position.sequence == 2)
        await view.close()
    }

    @Test("A damaged note of the entry that was being applied stops no gateway")
    func damagedNote() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var note = BinaryWriter()
        for number: Int64 in [1, 1, .max] { note.write(number) }
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
        try Data(note.bytes).write(to: URL(filePath: folder.path + "/view.applying"))
        let view = try ClusterView.open(at: folder.path, epoch: Epoch("e"))
        let stamp = WallTime(milliseconds: 1_800_000_000_000)
        let entry = StoredEntry(sequence: 1, stamp: stamp, bytes: [1])
        #expect(try view.apply([entry]).map(\.sequence) == [1])
        await view.close()
    }

    // MARK: Results

    @Test(
        "A gateway whose results differ is named, with the entry; the others stay ready",
        .limit("cluster.checks"))
    func results() async throws {
        #expect(ClusterLimits.checkEvery == .seconds(10))
        try await withServer { server, folder in
            let (clock, stamps) = (ManualClock(), Stamps())
            func start(_ name: String) async throws -> Running {
                try await Self.start(
                    RestampedJournal(
                        journal: try await NatsStore.journal(server.url), stamps: stamps,
                        clock: clock), at: folder.path(name), name: name, clock: WallOf(clock))
            }
            var all = [try await start("a"), try await start("b"), try await start("c")]
            _ = try await all[0].member.log.append([try Self.message("1")])
            for running in all { try await running.member.barrier.pass() }
            await all[2].stop()
            // What a disk has lost, or a defect of one version.
            let view = try DatabaseQueue(path: folder.path("c") + "/view.sqlite")
            try await view.write { try $0.execute(sql: "UPDATE heads SET head = head + 5") }
            try view.close()
            all[2] = try await start("c")
            try await all[2].member.barrier.pass()
            func go() async throws {
                clock.advance(by: .seconds(11))
                _ = try await all[0].member.log.append([try Self.message("2")])
            }
            try await go()
            try await eventually("it is named", within: .seconds(15)) {
                try await go()
                try await Task.sleep(for: .milliseconds(100))
                // Once its former process no longer counts as one that may have the same.
                let isNoted = FileManager.default.fileExists(
                    atPath: folder.path("c") + "/view.differs")
                return isNoted && all[2].member.problem?.contains("1 of 3") ?? false
            }
            let problem = try #require(all[2].member.problem)
            #expect(problem.contains("(c) and a, b"), "\(problem)")
            let from = problem.firstMatch(of: /From entry (\d+)/).flatMap { Int64($0.1) }
            #expect((2...all[2].member.view.position.sequence).contains(from ?? 0), "\(problem)")
            try await eventually("the others are ready") {
                all[0].member.problem == nil && all[1].member.problem == nil
            }
            let found = try await ClusterInspection.look(
                NatsConfiguration(server.url), cluster: ClusterName("tests"),
                logger: RunningServer.logger)
            let told = found.problems.first { $0.code == .corrupt }
            let words = "on c came to other results than a, b"
            #expect(told?.message.contains(words) == true, "\(found.problems)")
            // A restart makes no wrong view right.
            await all[2].stop()
            all[2] = try await start("c")
            #expect(all[2].member.problem == problem)
            await all[2].stop()
            try FileManager.default.removeItem(atPath: folder.path("c"))
            all[2] = try await start("c")
            try await all[2].member.barrier.pass()
            try await go()
            try await go()
            try await all[2].member.barrier.pass()
            #expect(all[2].member.problem == nil)
            for running in all { await running.stop() }
        }
    }
}
