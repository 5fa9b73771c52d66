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

@Suite("The base of a journal", .timeLimit(.minutes(1)))
struct BaseTests {
    /// A member, and what keeps it going.
    private struct Running {
        let member: ClusterMember
        let following: Task<Void, Never>
        let keeping: Task<Void, Never>

        /// Ends as one that is killed: what it was about to say is not said.
        func kill() async {
            following.cancel()
            await following.value
            keeping.cancel()
            await keeping.value
            await member.close()
        }

        /// Gives its leases back first, as a server that ends does.
        func stop() async {
            keeping.cancel()
            await keeping.value
            following.cancel()
            await following.value
            await member.close()
        }
    }

    private static func start(
        _ journal: any ClusterJournal, at path: String, name: String = "",
        every: Duration = .seconds(1), hashWithin: Duration = .seconds(20),
        clock: any Timekeeper = SystemTimekeeper(), logger: Logger = RunningServer.logger
    ) async throws -> Running {
        var schedule = BaseKeeper.Schedule()
        schedule.every = every
        schedule.hashWithin = hashWithin
        let member = try await ClusterMember.join(
            journal, at: path, name: name, implicitChannels: true, schedule: schedule,
            clock: clock, logger: logger)
        let following = Task {
            do {
                try await member.replica.run { member.bases?.applied($0, isOwn: $1) }
            } catch {
                // It was told to end; what else went wrong shows in what is missing.
            }
        }
        let keeping = Task {
            await withDiscardingTaskGroup { group in
                group.addTask { await member.bases?.run() }
                group.addTask { await member.watchJournal() }
            }
        }
        return Running(member: member, following: following, keeping: keeping)
    }

    /// A folder for views, and a journal that keeps bases.
    private static func fixture(
        seed: UInt64, readers: Int, faults: FaultyJournal.Faults = .none
    ) throws -> (folder: TemporaryFolder, journal: MemoryJournal, shared: SharedJournal) {
        let journal = MemoryJournal(
            seed: seed, readers: readers, stamps: SystemTimekeeper(), faults: faults,
            keepsBases: true)
        return (try TemporaryFolder(), journal, SharedJournal(journal: journal))
    }

    private static func fill(_ member: ClusterMember, _ count: Int) async throws {
        let channel = try ChannelName("general")
        let body = Array(#"{"text":"\#(String(repeating: "x", count: 300))"}"#.utf8)
        for _ in 0..<count {
            let batch = (0..<50).map { _ in
                NewMessage(channel: channel, id: .random(), body: body)
            }
            try await answered { _ = try await member.log.append(batch) }
        }
    }

    /// Does it again, as its error says, until a journal that loses entries has answered in time.
    private static func answered(_ body: () async throws -> Void) async throws {
        try await eventually("the journal answers") {
            do {
                try await body()
                return true
            } catch let error as RepriseError where error.code == .unavailable {
                return false
            }
        }
    }

    private static func manifest(_ store: any BaseStore) async throws -> BaseManifest? {
        try await store.newest()
    }

    /// Equal at the journal's end, whatever is still written meanwhile.
    private static func expectEqual(_ one: ClusterMember, _ other: ClusterMember) async throws {
        var dumps: [[String]] = []
        try await eventually("both have the same") {
            dumps = [try one.view.dump(), try other.view.dump()]
            return dumps[0] == dumps[1]
        }
        #expect(dumps[0].contains { $0.hasPrefix("message ") })
    }

    @Test(
        "Entries before a base are removed; a new gateway and one that was away start from the base",
        .limit("cluster.bases"))
    func stands() async throws {
        let (folder, journal, shared) = try Self.fixture(
            seed: 1, readers: 4, faults: ClusterStore.faults)
        defer { folder.remove() }
        defer { journal.close() }
        let store = try #require(shared.bases)
        let away = try await Self.start(shared, at: folder.path("away"), every: .seconds(3_600))
        try await Self.fill(away.member, 1)
        await away.stop()
        let first = try await Self.start(shared, at: folder.path("first"))
        let second = try await Self.start(shared, at: folder.path("second"))
        try await Self.fill(first.member, 40)
        try await eventually("a base is made") { try await Self.manifest(store) != nil }
        let made = try #require(try await Self.manifest(store))
        try await eventually("what is before it is gone") {
            try await journal.status().first > made.position.sequence
        }
        // The next one takes its place.
        try await Self.fill(second.member, 3)
        try await eventually("another is made") {
            try await Self.manifest(store).map { $0.position.sequence > made.position.sequence }
                ?? false
        }
        try await eventually("the pieces of the former one are gone") {
            journal.kept.withLock { $0[.piece(mark: made.position.sequence, number: 0)] } == nil
        }
        // A gateway that was overtaken writes the manifest of the former one: the newest counts.
        try await store.put([9], as: .manifest(mark: made.position.sequence))
        let mark = made.position.sequence
        for name in ["away", "new"] {
            let made = try await Self.start(shared, at: folder.path(name), every: .seconds(3_600))
            #expect(made.member.view.position.sequence >= mark)
            try await Self.answered { try await made.member.barrier.pass() }
            try await Self.expectEqual(made.member, first.member)
            try await Self.fill(made.member, 1)
            try await Self.expectEqual(made.member, second.member)
            await made.stop()
        }
        await first.stop()
        await second.stop()
    }

    @Test(
        "Where no base reaches the journal's first entry, gateways do not start, keep their views, and go on once another node leads"
    )
    func damagedBeginning() async throws {
        let (folder, journal, shared) = try Self.fixture(seed: 3, readers: 4)
        defer { folder.remove() }
        defer { journal.close() }
        let first = try await Self.start(
            shared, at: folder.path("first"), hashWithin: .milliseconds(1_500))
        try await Self.fill(first.member, 5)
        try await eventually("what is before a base is gone") {
            try await journal.status().first > 1
        }
        await first.stop()
        var stood: [Int64] = []
        for name in ["behind", "other"] {
            let one = try await Self.start(
                shared, at: folder.path(name), every: .seconds(3_600))
            try await Self.fill(one.member, 5)
            await one.stop()
            stood.append(one.member.view.position.sequence)
        }
        // As the copy of a node whose first blocks are damaged.
        var sound: FaultyJournal?
        journal.change {
            sound = $0
            $0.removeEntries(through: Int64($0.entries.count) - 1)
        }
        for name in ["behind", "new"] {
            let error = await expectError(.unavailable) {
                try await Self.start(shared, at: folder.path(name))
            }
            #expect(error?.remedy?.contains("let another one lead") == true)
        }
        let view = try ClusterView.open(
            at: folder.path("behind"), epoch: journal.epoch, ClusterStore.configuration)
        #expect(view.position.sequence == stood[0])
        await view.close()
        journal.change { if let sound { $0 = sound } }
        let again = try await Self.start(
            shared, at: folder.path("behind"), every: .seconds(3_600))
        try await again.member.barrier.pass()
        #expect(again.member.view.position.sequence > stood[1])
        await again.stop()
    }

    @Test("A single gateway makes a base after a wait, and the entries before it are removed")
    func alone() async throws {
        let (folder, journal, shared) = try Self.fixture(seed: 2, readers: 1)
        defer { folder.remove() }
        defer { journal.close() }
        let one = try await Self.start(
            shared, at: folder.path("one"), every: .seconds(4), hashWithin: .milliseconds(1_500))
        try await Self.fill(one.member, 5)
        try await eventually("the entries before the base are gone") {
            try await journal.status().first > 5
        }
        // What was copied is not kept open: then the write-ahead log could not be emptied.
        try await eventually("the write-ahead log is empty") {
            try await one.member.log.eraseDeleted()
            let log = folder.path("one") + "/view.sqlite-wal"
            let attributes = try FileManager.default.attributesOfItem(atPath: log)
            return (attributes[.size] as? NSNumber)?.intValue == 0
        }
        await one.stop()
    }

    @Test(
        "An entry with a different history right behind a base does not stop a gateway that starts from the base"
    )
    func otherPastBehind() async throws {
        let (folder, journal, shared) = try Self.fixture(seed: 4, readers: 2)
        defer { folder.remove() }
        defer { journal.close() }
        let store = try #require(shared.bases)
        let one = try await Self.start(shared, at: folder.path("one"), hashWithin: .seconds(1))
        try await Self.fill(one.member, 5)
        try await eventually("a base is made") { try await Self.manifest(store) != nil }
        await one.stop()
        // What came after it is lost, and somebody writes who does not know that.
        let mark = try #require(try await Self.manifest(store)).position.sequence
        try await store.removeEntries(through: mark)
        journal.change { $0.goBack(to: mark) }
        await journal.send(ClusterEntryTests.entry([.nop]).bytes)
        try await eventually("it is stored") { try await journal.status().last == mark + 1 }
        let made = try await Self.start(shared, at: folder.path("new"), every: .seconds(3_600))
        try await Self.fill(made.member, 1)
        #expect(try made.member.log.head(of: try ChannelName("general")) == 300)
        await made.stop()
    }

    @Test("Gateways whose views differ make no base, report it, and remove no entries")
    func differ() async throws {
        let (folder, journal, shared) = try Self.fixture(seed: 3, readers: 2)
        defer { folder.remove() }
        defer { journal.close() }
        let one = try await Self.start(shared, at: folder.path("one"), every: .seconds(3_600))
        try await Self.fill(one.member, 2)
        await one.stop()
        try await Self.damage(folder.path("one"))
        let bad = try await Self.start(
            shared, at: folder.path("one"), hashWithin: .milliseconds(2_500))
        let good = try await Self.start(
            shared, at: folder.path("two"), hashWithin: .milliseconds(2_500))
        try await eventually("both say so") {
            [bad, good].allSatisfy { $0.member.problem?.contains("1 of 2") == true }
        }
        try await Task.sleep(for: .seconds(2))
        #expect(try await Self.manifest(try #require(shared.bases)) == nil)
        #expect(try await journal.status().first == 1)
        try await eventually("what was copied in vain goes too") {
            journal.kept.withLock { $0.isEmpty }
        }
        await bad.stop()
        // Made anew, it is equal, and a base is made.
        try FileManager.default.removeItem(atPath: folder.path("one"))
        let again = try await Self.start(shared, at: folder.path("one"))
        try await eventually("a base is made", within: .seconds(50)) {
            try await Self.manifest(try #require(shared.bases)) != nil
        }
        // It has read the old marks too, and what was said of them.
        try await eventually("nothing differs") { again.member.problem == nil }
        await again.stop()
        await good.stop()
    }

    /// A journal whose base stream refuses what a test says, and in which something happens while
    /// a gateway reads it.
    private final class ChangingBases: ClusterJournal, BaseStore {
        private let shared: SharedJournal
        private let store: any BaseStore
        let putting = Mutex<@Sendable () throws -> Void>({})
        let getting = Mutex<@Sendable (BasePiece) -> Void>({ _ in })
        let removing = Mutex<@Sendable () throws -> Void>({})
        /// What it says of its first entry; nil: what is so.
        let first = Mutex<Int64?>(nil)

        init(_ shared: SharedJournal) throws {
            (self.shared, store) = (shared, try #require(shared.bases))
        }

        func put(_ bytes: [UInt8], as name: BasePiece) async throws {
            try putting.withLock { $0 }()
            try await store.put(bytes, as: name)
        }
        func get(_ name: BasePiece) async throws -> [UInt8]? {
            getting.withLock { $0 }(name)
            return try await store.get(name)
        }
        func marks(complete: Bool) async throws -> [Int64] {
            try await store.marks(complete: complete)
        }
        func removePieces(at mark: Int64) async throws { try await store.removePieces(at: mark) }
        func removeEntries(through sequence: Int64) async throws {
            try removing.withLock { $0 }()
            try await store.removeEntries(through: sequence)
        }

        var bases: (any BaseStore)? { self }
        var epoch: Epoch { shared.epoch }
        func send(_ bytes: [UInt8]) async { await shared.send(bytes) }
        func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) { shared.follow(heard) }
        func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
            try await shared.read(after: sequence)
        }
        func status() async throws -> JournalStatus {
            var status = try await shared.status()
            if let first = first.withLock({ $0 }) { status.first = first }
            return status
        }
        func close() async {}
    }

    @Test("After one base that could not be made the next is tried within minutes, not hours")
    func triedAgain() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let clock = ManualClock()
        let journal = MemoryJournal(
            seed: 9, readers: 1, stamps: clock, faults: .none, keepsBases: true)
        defer { journal.close() }
        let once = try ChangingBases(SharedJournal(journal: journal))
        let refused = Mutex<Duration?>(nil)
        once.putting.withLock {
            $0 = {
                let isFirst = refused.withLock { refused in
                    defer { refused = refused ?? clock.uptime() }
                    return refused == nil
                }
                if isFirst { throw RepriseError(.unavailable, "Not now.") }
            }
        }
        let one = try await Self.start(
            once, at: folder.path("one"), every: ClusterLimits.baseEvery, clock: clock)
        try await clock.advance(by: .seconds(1), within: .seconds(40)) {
            try await Self.manifest(once) != nil
        }
        let failed = try #require(refused.withLock { $0 })
        #expect(clock.uptime() - failed < .seconds(300))
        await one.stop()
    }

    @Test("Entries before a base whose removal failed are removed within minutes, not hours")
    func removedAgain() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let clock = ManualClock()
        let journal = MemoryJournal(
            seed: 12, readers: 1, stamps: clock, faults: .none, keepsBases: true)
        defer { journal.close() }
        let once = try ChangingBases(SharedJournal(journal: journal))
        let refused = Mutex<Duration?>(nil)
        once.removing.withLock {
            $0 = {
                let isFirst = refused.withLock { refused in
                    defer { refused = refused ?? clock.uptime() }
                    return refused == nil
                }
                if isFirst { throw RepriseError(.unavailable, "Not now.") }
            }
        }
        let one = try await Self.start(
            once, at: folder.path("one"), every: ClusterLimits.baseEvery, clock: clock)
        try await clock.advance(by: .seconds(1), within: .seconds(40)) {
            try await journal.status().first > 1
        }
        let failed = try #require(refused.withLock { $0 })
        #expect(clock.uptime() - failed < .seconds(300))
        let base = try #require(try await Self.manifest(once))
        #expect(try await journal.status().first == base.position.sequence + 1)
        await one.stop()
    }

    @Test("A base is made on threads of its own, and does not keep one of Swift's pool")
    func ownThreads() async throws {
        let (folder, journal, shared) = try Self.fixture(seed: 13, readers: 1)
        defer { folder.remove() }
        defer { journal.close() }
        let looked = try ChangingBases(shared)
        let isOwn = Mutex<Bool?>(nil)
        looked.putting.withLock {
            $0 = {
                let found = withUnsafeCurrentTask { $0?.unownedTaskExecutor != nil }
                isOwn.withLock { $0 = $0 ?? found }
            }
        }
        let one = try await Self.start(
            looked, at: folder.path("one"), hashWithin: .milliseconds(1_500))
        try await becomes("a piece is kept by a thread of its own", true) {
            isOwn.withLock { $0 ?? false }
        }
        await one.stop()
    }

    /// A bit of a message's text flips on a disk.
    private static func damage(_ path: String) async throws {
        let view = try DatabaseQueue(path: path + "/view.sqlite")
        try await view.write { db in
            for table in ["messages", "arrivals", "arrivals2"] {
                try db.execute(
                    sql: "UPDATE \(table) SET body = CAST('{}' AS BLOB) WHERE seq = 7")
            }
        }
        try view.close()
    }

    enum Wrong: CaseIterable {
        case piece, missing, content
    }

    @Test(
        "A base that is not what was agreed on is not installed, and the view before it stays",
        arguments: Wrong.allCases)
    func wrong(_ what: Wrong) async throws {
        let (folder, journal, shared) = try Self.fixture(seed: 10, readers: 2)
        defer { folder.remove() }
        defer { journal.close() }
        let away = try await Self.start(shared, at: folder.path("away"), every: .seconds(3_600))
        try await Self.fill(away.member, 1)
        await away.stop()
        let stood = away.member.view.position.sequence
        let base = try await Self.makeBase(shared, in: folder)
        let sound = journal.kept.withLock { $0 }
        journal.kept.withLock { kept in
            let piece = BasePiece.piece(mark: base.position.sequence, number: 0)
            switch what {
            case .piece: kept[piece]?[5_000] ^= 1
            case .missing: kept[piece] = nil
            case .content:
                var other = base
                other.content[0] ^= 1
                kept[.manifest(mark: base.position.sequence)] = other.encoded
            }
        }
        let error = await expectError(.corrupt) {
            try await Self.start(shared, at: folder.path("away"))
        }
        #expect(error?.remedy?.contains("base stream") == true)
        let view = try ClusterView.open(
            at: folder.path("away"), epoch: journal.epoch, ClusterStore.configuration)
        #expect(view.position.sequence == stood)
        await view.close()
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path("away"))
        #expect(!files.contains("base-copy.sqlite"))
        journal.kept.withLock { $0 = sound }
        let again = try await Self.start(shared, at: folder.path("away"), every: .seconds(3_600))
        #expect(again.member.view.position.sequence >= base.position.sequence)
        await again.stop()
    }

    @Test("A gateway whose base is removed for a newer one while it reads it takes the newer one")
    func removedMeanwhile() async throws {
        let (folder, journal, shared) = try Self.fixture(seed: 11, readers: 2)
        defer { folder.remove() }
        defer { journal.close() }
        let former = try await Self.makeBase(shared, in: folder)
        let kept = journal.kept.withLock { $0 }
        let newer = try await Self.makeBase(shared, in: folder)
        #expect(newer.position.sequence > former.position.sequence)
        // The gateway asks before the newer one is made.
        let changing = try ChangingBases(shared)
        changing.first.withLock { $0 = former.position.sequence + 1 }
        let current = journal.kept.withLock { now in
            defer { now = kept }
            return now
        }
        changing.getting.withLock {
            $0 = { name in
                guard case .piece = name else { return }
                journal.kept.withLock { $0 = current }
                changing.first.withLock { $0 = nil }
            }
        }
        let made = try await Self.start(changing, at: folder.path("new"), every: .seconds(3_600))
        #expect(made.member.view.position.sequence >= newer.position.sequence)
        await made.stop()
    }

    /// A gateway makes a base, and is gone.
    private static func makeBase(
        _ shared: SharedJournal, in folder: TemporaryFolder
    ) async throws -> BaseManifest {
        let store = try #require(shared.bases)
        let former = try await manifest(store)?.position.sequence ?? 0
        let maker = try await start(shared, at: folder.path("maker"), hashWithin: .seconds(1))
        try await fill(maker.member, 5)
        try await eventually("a base is made") {
            try await shared.status().first > former + 5
        }
        await maker.stop()
        return try #require(try await manifest(store))
    }

    @Test("A gateway that cannot read its view is not ready, and says what to do")
    func unreadable() async throws {
        let (folder, journal, shared) = try Self.fixture(seed: 8, readers: 1)
        defer { folder.remove() }
        defer { journal.close() }
        let store = try #require(shared.bases)
        let one = try await Self.start(shared, at: folder.path("one"), every: .seconds(3_600))
        let body = Array(#"{"text":"\#(String(repeating: "x", count: 60_000))"}"#.utf8)
        _ = try await one.member.log.append([
            NewMessage(channel: try ChannelName("general"), id: .random(), body: body)
        ])
        await one.stop()
        try Self.breakPages(folder.path("one"))
        let bad = try await Self.start(
            shared, at: folder.path("one"), hashWithin: .milliseconds(1_500))
        try await eventually("it says so") {
            bad.member.problem?.hasPrefix("This gateway cannot read its view: ") == true
        }
        #expect(bad.member.problem?.contains("Remove it") == true)
        let owing = try #require(bad.member.bases).owing
        #expect(owing > .zero, "the metric grows")
        #expect(try await Self.manifest(store) == nil)
        await bad.stop()
        try FileManager.default.removeItem(atPath: folder.path("one"))
        let again = try await Self.start(
            shared, at: folder.path("one"), hashWithin: .milliseconds(1_500))
        try await eventually("a base is made") { try await Self.manifest(store) != nil }
        #expect(again.member.problem == nil)
        await again.stop()
    }

    /// A disk has lost where the parts of a long text go on.
    private static func breakPages(_ path: String) throws {
        let view = try DatabaseQueue(path: path + "/view.sqlite")
        try view.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try view.close()
        let file = URL(fileURLWithPath: path + "/view.sqlite")
        var bytes = Array(try Data(contentsOf: file))
        // https://www.sqlite.org/fileformat2.html#the_database_header, and #ovflpgs
        let page = Int(bytes[16]) << 8 | Int(bytes[17])
        var broken = 0
        for start in stride(from: 0, to: bytes.count, by: page)
        where bytes[(start + 4)..<(start + page)].allSatisfy({ $0 == UInt8(ascii: "x") }) {
            bytes.replaceSubrange(start..<(start + 4), with: [0xff, 0xff, 0xff, 0xff])
            broken += 1
        }
        try #require(broken > 0)
        try Data(bytes).write(to: file)
    }

    /// What a gateway says of its view comes into the journal when it says it again.
    private final class LateHashes: ClusterJournal {
        private let shared: SharedJournal
        private let said = Mutex<Set<Int64>>([])

        init(_ shared: SharedJournal) { self.shared = shared }

        var epoch: Epoch { shared.epoch }
        var bases: (any BaseStore)? { shared.bases }
        func send(_ bytes: [UInt8]) async {
            guard let entry = try? ClusterEntry(bytes),
                entry.commands.contains(where: { if case .hashed = $0 { true } else { false } }),
                said.withLock({ $0.insert(entry.n).inserted })
            else { return await shared.send(bytes) }
        }
        func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) { shared.follow(heard) }
        func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
            try await shared.read(after: sequence)
        }
        func status() async throws -> JournalStatus { try await shared.status() }
        func close() async {}
    }

    @Test("A gateway compares views only once its own hash has come back from the journal")
    func ownHashIsLate() async throws {
        let (folder, journal, shared) = try Self.fixture(seed: 6, readers: 2)
        defer { folder.remove() }
        defer { journal.close() }
        let one = try await Self.start(shared, at: folder.path("one"), every: .seconds(3_600))
        try await Self.fill(one.member, 2)
        await one.stop()
        try await Self.damage(folder.path("one"))
        let lines = LogLines()
        let late = try await Self.start(
            LateHashes(shared), at: folder.path("one"), hashWithin: .milliseconds(2_500),
            logger: Logger(label: "late") { _ in lines })
        let good = try await Self.start(
            shared, at: folder.path("two"), hashWithin: .milliseconds(2_500))
        try await eventually("both say so") {
            let problem = late.member.problem
            try #require(problem?.contains(": 0 of") != true, "\(problem ?? "")")
            return problem?.contains("1 of 2") == true
                && good.member.problem?.contains("1 of 2") == true
        }
        let told = lines.text.split(separator: "\n").filter { $0.hasPrefix("the views of") }
        #expect(!told.isEmpty && told.allSatisfy { $0.contains(#""equal": 1"#) }, "\(told)")
        await late.stop()
        await good.stop()
    }

    /// Its gateway is killed before it says what its view holds, or goes on without: that never
    /// comes into the journal.
    private final class KilledBeforeHash: ClusterJournal {
        private let journal: NatsJournal
        private let goesOn: Bool
        private let said = Mutex<Set<Int64>>([])

        init(_ journal: NatsJournal, goesOn: Bool = false) {
            (self.journal, self.goesOn) = (journal, goesOn)
        }

        /// The marks of what it was about to say.
        var marks: Set<Int64> { said.withLock { $0 } }

        var epoch: Epoch { journal.epoch }
        var bases: (any BaseStore)? { journal.bases }
        var connectionNumber: UInt64? { journal.connectionNumber }
        func send(_ bytes: [UInt8]) async {
            guard var entry = try? ClusterEntry(bytes) else { return await journal.send(bytes) }
            var marks: Set<Int64> = []
            for case .hashed(let hash) in entry.commands { marks.insert(hash.mark) }
            if marks.isEmpty { return await journal.send(bytes) }
            said.withLock { $0.formUnion(marks) }
            guard goesOn else { return }
            entry.commands = entry.commands.map { if case .hashed = $0 { .nop } else { $0 } }
            await journal.send(entry.bytes)
        }
        func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) { journal.follow(heard) }
        func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
            try await journal.read(after: sequence)
        }
        func status() async throws -> JournalStatus { try await journal.status() }
        func close() async { await journal.close() }
    }

    @Test(
        "A gateway killed between a mark and its hash leaves no damaged maker of bases alone: the next mark shows it"
    )
    func killedBeforeHash() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
        defer { server.kill() }
        func journal() async throws -> NatsJournal { try await NatsStore.journal(server.url) }
        let one = try await Self.start(
            try await journal(), at: folder.path("one"), every: .seconds(3_600))
        try await Self.fill(one.member, 2)
        await one.stop()
        try await Self.damage(folder.path("one"))
        let kept = try await journal()
        let store = try #require(kept.bases)
        // So long the killed one has to be back.
        let bad = try await Self.start(
            try await journal(), at: folder.path("one"), hashWithin: .seconds(12))
        try await eventually("the damaged one makes bases") {
            bad.member.leases.grant(of: .base) != nil
        }
        let dying = KilledBeforeHash(try await journal())
        let killed = try await Self.start(dying, at: folder.path("two"), every: .seconds(3_600))
        try await eventually("a mark is applied, and its hash is not told") {
            !dying.marks.isEmpty
        }
        await killed.kill()
        let good = try await Self.start(
            try await journal(), at: folder.path("two"), every: .seconds(3_600))
        try await good.member.barrier.pass()
        // What it was about to say is of a view that has gone on.
        #expect(good.member.view.position.sequence > (dying.marks.max() ?? .max))
        try await eventually("both say that they differ", within: .seconds(40)) {
            [bad, good].allSatisfy { $0.member.problem?.contains("1 of 2") == true }
        }
        #expect(try await Self.manifest(store) == nil)
        #expect(try await kept.status().first == 1)
        for running in [bad, good] { await running.stop() }
        await kept.close()
    }

    @Test("A gateway that writes but never reports its hash is named, and no base is made")
    func silent() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
        defer { server.kill() }
        func look() async throws -> ClusterInspection {
            try await ClusterInspection.look(
                NatsConfiguration(server.url), cluster: ClusterName("tests"),
                logger: RunningServer.logger)
        }
        let one = try await Self.start(
            try await NatsStore.journal(server.url), at: folder.path("one"), name: "one",
            hashWithin: .seconds(5))
        try await eventually("the one makes bases") { one.member.leases.grant(of: .base) != nil }
        let mute = KilledBeforeHash(try await NatsStore.journal(server.url), goesOn: true)
        let two = try await Self.start(
            mute, at: folder.path("two"), name: "two", every: .seconds(3_600))
        try await eventually("the one has said it, the other has not", within: .seconds(40)) {
            // It is there at each mark.
            try await two.member.barrier.pass()
            let found = try await look()
            // A mark of before it came does not count.
            let session = found.gateways.first { $0.name == "two" }?.session ?? .max
            return found.hashed.contains { mark, said in
                session < mark && mute.marks.contains(mark) && said.count == 1
            }
        }
        try await two.member.barrier.pass()
        var found = try await look()
        #expect(found.silent.isEmpty)
        for index in found.gateways.indices {
            found.gateways[index].time = found.gateways[index].time.advanced(by: .seconds(600))
        }
        #expect(found.silent.map(\.name) == ["two"])
        #expect(found.problems.contains { $0.message.hasPrefix("two has not said") })
        let (here, there) = (try #require(one.member.bases), try #require(two.member.bases))
        #expect(there.owing > .zero)
        try await eventually("the one owes nothing") { here.owing == .zero }
        for running in [one, two] { await running.stop() }
    }

    @Test(
        "A running gateway whose next entries are removed from the journal stops, and says what to do"
    )
    func leftBehind() async throws {
        let (folder, journal, shared) = try Self.fixture(seed: 4, readers: 2)
        defer { folder.remove() }
        defer { journal.close() }
        let one = try await Self.start(shared, at: folder.path("one"), every: .seconds(3_600))
        try await Self.fill(one.member, 3)
        await one.stop()
        let end = one.member.view.position.sequence
        // It is not there when its entries go, and hears of it when it follows again.
        let two = try await Self.start(shared, at: folder.path("two"), every: .seconds(3_600))
        try await two.member.barrier.pass()
        try await Self.fill(two.member, 2)
        let view = try ClusterView.open(
            at: folder.path("one"), epoch: journal.epoch, ClusterStore.configuration)
        let replica = ClusterReplica(view: view, journal: shared)
        journal.change { $0.removeEntries(through: end + 2) }
        await expectError(.unavailable) { try await replica.run() }
        await view.close()
        await expectError(.unavailable) {
            _ = try await ClusterMember.join(
                shared, at: folder.path("one"), implicitChannels: true)
        }
        await two.stop()
    }

    @Test("On a real nats-server: many pieces, a purge, a view made anew")
    func nats() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
        defer { server.kill() }
        let journals = [
            try await NatsStore.journal(server.url), try await NatsStore.journal(server.url),
        ]
        let one = try await Self.start(journals[0], at: folder.path("one"))
        let two = try await Self.start(journals[1], at: folder.path("two"))
        try await Self.fill(one.member, 60)
        let store = try #require(journals[0].bases)
        try await eventually("a base of many pieces is made", within: .seconds(40)) {
            (try await Self.manifest(store)?.pieces.count ?? 0) > 1
        }
        try await eventually("what is before it is gone") {
            try await journals[0].status().first > 60
        }
        await two.stop()
        try FileManager.default.removeItem(atPath: folder.path("two"))
        let again = try await Self.start(
            try await NatsStore.journal(server.url), at: folder.path("two"))
        try await again.member.barrier.pass()
        try await Self.expectEqual(again.member, one.member)
        await again.stop()
        await one.stop()
    }

    @Test("A base of a former version, which lacks tables that are empty, has the same content")
    func former() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        await (try ClusterView.open(at: folder.path, epoch: try Epoch("e"))).close()
        let file = URL(fileURLWithPath: folder.path + "/view.sqlite")
        func edit(_ sql: String) throws {
            let queue = try DatabaseQueue(path: file.path)
            try queue.write { try $0.execute(sql: sql) }
            try queue.close()
        }
        let content = try await ViewContent.hash(of: file)
        try edit("INSERT INTO profiles (user, name) VALUES ('ada', 'Ada')")
        #expect(try await ViewContent.hash(of: file) != content)
        try edit("DROP TABLE profiles; DROP TABLE archived; DROP TABLE rules")
        #expect(try await ViewContent.hash(of: file) == content)
    }
}
