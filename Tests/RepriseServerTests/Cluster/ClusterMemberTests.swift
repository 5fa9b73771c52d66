import Foundation
import RepriseCore
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@testable import RepriseServer

@Suite("A member of a cluster", .timeLimit(.minutes(1)))
struct ClusterMemberTests {
    private func withMember(
        _ body: (ClusterMember, MemoryJournal) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let journal = MemoryJournal(
            seed: 1, readers: 1, stamps: SystemTimekeeper(), faults: .none)
        defer { journal.close() }
        let member = try await ClusterMember.join(
            SharedJournal(journal: journal), at: folder.path, implicitChannels: true)
        let running = Task {
            try await member.replica.run { entry, _ in
                member.health.applied(entry.sequence, bytes: entry.bytes)
            }
        }
        do {
            try await body(member, journal)
        } catch {
            Issue.record(error)
        }
        running.cancel()
        _ = await running.result
        await member.close()
    }

    @Test(
        "An almost full journal takes no messages, then no changes, and hellos and trims always",
        .limit("cluster.full"))
    func full() async throws {
        #expect(ClusterLimits.publishFill == 85 && ClusterLimits.accountFill == 90)
        try await withMember { member, journal in
            let channel = try ChannelName("general")
            let body = Array(#"{"text":"\#(String(repeating: "x", count: 500))"}"#.utf8)
            func publish() async throws {
                let message = NewMessage(channel: channel, id: .random(), body: body)
                _ = try await member.log.append([message])
            }
            func change() async throws {
                try await member.accounts.perform(
                    SetMute(Mute(.channel(channel)), of: try UserID("ada")))
            }
            /// So full, in percent, by what is stored.
            func fill(_ percent: Int64) async throws {
                let bytes = try await journal.status().bytes
                journal.limit(to: bytes * 1_000 / (percent * 10 + 5))
                member.health.heard(try await journal.status())
            }
            for _ in 0..<20 { try await publish() }
            try await fill(84)
            try await publish()
            try await change()
            try await fill(85)
            await expectError(.full) { try await publish() }
            try await change()
            try await fill(90)
            await expectError(.full) { try await change() }
            try await fill(99)
            _ = try await member.arrive(.init(user: nil, device: .random()))
            _ = try await member.log.trim(channel, through: 10)
            try await member.barrier.pass()
            // Between two answers what is applied counts.
            let bytes = try await journal.status().bytes
            journal.limit(to: bytes * 2)
            member.health.heard(try await journal.status())
            await expectError(.full) { for _ in 0..<40 { try await publish() } }
            journal.limit(to: bytes * 100)
            member.health.heard(try await journal.status())
            try await publish()
        }
    }

    @Test("A change that needs the skipped entries fails with the first that cannot be read")
    func skippedUnread() async throws {
        try await withMember { member, journal in
            func change() async throws {
                try await member.accounts.perform(
                    SetMute(Mute(.channel(try ChannelName("general"))), of: try UserID("ada")))
            }
            try await change()
            journal.skip(Set((1_001...1_064).map { SkippedEntry(sequence: $0, hash: []) }))
            journal.connects(false)
            await expectError(.unavailable) { try await change() }
            journal.connects(true)
            journal.failReadings(.max)
            await expectError(.unreachable) { try await change() }
            journal.failReadings(0)
            try await change()
        }
    }

    /// A journal with one entry, whose readings wait until the test opens it.
    private final class HeldJournal: ClusterJournal {
        let epoch = Epoch.random()
        private let entry: StoredEntry
        private let opened: Signal
        private let gate: Task<Void, Never>
        private let counted = Mutex((asked: 0, reads: 0))

        init(_ entry: StoredEntry) {
            let opened = Signal()
            (self.entry, self.opened) = (entry, opened)
            gate = Task { await opened.wait() }
        }

        func open() { opened.raise() }

        /// How often somebody asked what is skipped.
        var asked: Int { counted.withLock { $0.asked } }
        var reads: Int { counted.withLock { $0.reads } }

        var skipped: Set<SkippedEntry> {
            counted.withLock { $0.asked += 1 }
            return [SkippedEntry(entry)]
        }
        func send(_ bytes: [UInt8]) async {}
        func follow(_ heard: @escaping @Sendable (StoredEntry?) -> Void) {}
        func read(after sequence: Int64) async throws -> (entries: [StoredEntry], last: Int64) {
            counted.withLock { $0.reads += 1 }
            await gate.value
            return ([entry], entry.sequence)
        }
        func status() async throws -> JournalStatus { JournalStatus() }
        func close() async {}
    }

    @Test("A skipped entry is read once for all who ask meanwhile")
    func skippedOnce() async throws {
        func message() throws -> NewMessage {
            NewMessage(channel: try ChannelName("general"), id: .random(), body: [49])
        }
        let bad = try message()
        let journal = HeldJournal(
            StoredEntry(
                sequence: 7, stamp: WallTime(milliseconds: 0),
                bytes: ClusterEntryTests.entry(ClusterLog.commands(for: [bad])).bytes))
        let skipped = SkippedCommands(journal)
        let asking = (0..<20).map { _ in Task { try await skipped.has(bad) } }
        try await eventually("all have asked") { journal.asked == 20 }
        journal.open()
        for task in asking { #expect(try await task.value) }
        #expect(try await !skipped.has(try message()))
        #expect(journal.reads == 1)
    }

    @Test(
        "A gateway whose journal does not answer for 20 s is not ready, until it does",
        .limit("cluster.leaderless"))
    func leaderless() async throws {
        #expect(ClusterLimits.leaderless == .seconds(20))
        let clock = ManualClock()
        let journal = MemoryJournal(
            seed: 1, readers: 1, stamps: SystemTimekeeper(), faults: .none)
        defer { journal.close() }
        let health = ClusterHealth(clock: clock)
        let watching = Task { await health.watch(SharedJournal(journal: journal)) }
        try await eventually("it has asked") { health.status != nil }
        journal.leads(false)
        clock.advance(by: .seconds(19))
        #expect(!health.isLeaderless)
        clock.advance(by: .seconds(1))
        #expect(health.isLeaderless)
        journal.leads(true)
        try await eventually("it is asked again") {
            clock.advance(by: .seconds(1))
            return !health.isLeaderless
        }
        watching.cancel()
        await watching.value

        // A node answers without a majority.
        var status = try #require(health.status)
        status.servers = [JournalStatus.Server(name: "n1")]
        health.heard(status)
        #expect(!health.isLeaderless)
        clock.advance(by: .seconds(20))
        health.heard(status)
        #expect(health.isLeaderless)
        status.servers[0].isLeader = true
        health.heard(status)
        #expect(!health.isLeaderless)
    }

    @Test(
        "A gateway that starts waits until the journal reports where it begins, at most 20 s",
        .limit("cluster.leaderless"))
    func beginning() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let clock = ManualClock()
        let journal = MemoryJournal(seed: 1, readers: 1, stamps: clock, faults: .none)
        defer { journal.close() }
        await journal.send(ClusterEntryTests.entry([.nop]).bytes)
        try await eventually("it is stored") { journal.entries.count == 1 }
        // There is no base for what is gone: that must be noticed, and not an empty view opened.
        journal.change { $0.removeEntries(through: 1) }
        func join() async throws {
            let member = try await ClusterMember.join(
                SharedJournal(journal: journal), at: folder.path, implicitChannels: true,
                clock: clock, logger: RunningServer.logger)
            await member.close()
        }
        for leads in [true, false] {
            journal.leads(false)
            let asked = journal.looks
            let ended = Mutex<String?>(nil)
            let joining = Task {
                let error = await #expect(throws: RepriseError.self) { try await join() }
                #expect(error?.code == .unavailable)
                ended.withLock { $0 = error?.message ?? "" }
            }
            try await clock.advance(by: .seconds(1)) { journal.looks > asked + 2 }
            if leads { journal.leads(true) }
            try await clock.advance(by: .seconds(1)) { ended.withLock { $0 != nil } }
            await joining.value
            let message = try #require(ended.withLock { $0 })
            #expect(message.contains("begins at entry 2") == leads, "\(message)")
            // One a second; the clock goes on while it ends.
            #expect(journal.looks - asked <= 21)
        }
    }

    @Test("An idle gateway whose clock is far ahead compares results, and so counts as present")
    func clockAhead() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let stamps = ManualClock()
        let ahead = ManualClock(milliseconds: stamps.now.milliseconds + 90_000)
        let journal = MemoryJournal(seed: 1, readers: 2, stamps: stamps, faults: .none)
        defer { journal.close() }
        var (members, running) = ([ClusterMember](), [Task<Void, any Error>]())
        for (name, clock) in [("idle", ahead), ("busy", stamps)] {
            let member = try await ClusterMember.join(
                SharedJournal(journal: journal), at: folder.path(name), name: name,
                implicitChannels: true, clock: WallOf(clock), logger: RunningServer.logger)
            running.append(
                Task { try await member.replica.run { member.applied($0, isOwn: $1) } })
            try await member.barrier.pass()
            members.append(member)
        }
        let busy = members[1]
        var session: Int64?
        try await eventually("it says so", within: .seconds(20), every: .milliseconds(50)) {
            for clock in [stamps, ahead] { clock.advance(by: .seconds(11)) }
            try await busy.barrier.pass()
            for entry in journal.entries.compactMap({ try? ClusterEntry($0.bytes) }) {
                for case .checked(let check) in entry.commands where check.name == "idle" {
                    session = entry.session
                }
            }
            return session != nil
        }
        try await busy.barrier.pass()
        let there = busy.view.writers(within: ConnectedElsewhere.Settings().writtenWithin)
        let idle = try #require(session)
        #expect(there.contains(idle))
        for task in running { task.cancel() }
        for task in running { _ = await task.result }
        for member in members { await member.close() }
    }

    /// What a gateway says of its results, and which gateways are there.
    private final class ComparedGateway: Sendable {
        let present = Mutex<Set<Int64>>([])
        private let said = Mutex<[ResultCheck]>([])

        func checks(in path: String) -> ResultChecks {
            ResultChecks(
                name: "own", in: path, present: { self.present.withLock { $0 } },
                submit: { commands in
                    for case .checked(let check) in commands {
                        self.said.withLock { $0.append(check) }
                    }
                    return []
                }, logger: RunningServer.logger)
        }

        /// What it says of one of its spans, counted from 1.
        func check(of span: Int) async throws -> ResultCheck {
            try await eventually("it says it") { self.said.withLock { $0.count } >= span }
            return self.said.withLock { $0[span - 1] }
        }
    }

    private static func entry(
        _ sequence: Int64, at seconds: Int64, by session: Int64, _ outcomes: [CommandOutcome] = []
    ) -> AppliedEntry {
        AppliedEntry(
            sequence: sequence, session: session, n: sequence, bytes: 1,
            time: WallTime(milliseconds: seconds * 1_000), disposition: .accepted,
            outcomes: outcomes)
    }

    private static func other(_ check: ResultCheck) -> ResultCheck {
        var check = check
        check.digest = Array(1...32)
        return check
    }

    @Test(
        "A gateway is noted as wrong once more than half of those present agree on other results, in whichever order they come",
        arguments: [4, 5])
    func outvoted(gateways: Int) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        // Bit by bit, which of them have other results.
        for order in 0..<(1 << gateways) {
            let path = folder.path("\(order)")
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true)
            let gateway = ComparedGateway()
            gateway.present.withLock { $0 = Set(1...Int64(gateways)) }
            let checks = gateway.checks(in: path)
            checks.applied(Self.entry(1, at: 0, by: 1))
            checks.applied(Self.entry(2, at: 10, by: 1))
            let own = try await gateway.check(of: 1)
            var others = 0
            for place in 0..<gateways {
                let isOther = order & (1 << place) != 0
                if isOther { others += 1 }
                let said = isOther ? Self.other(own) : own
                checks.applied(
                    Self.entry(Int64(place) + 3, at: 10, by: Int64(place) + 1, [.checked(said)]))
                let isNoted = FileManager.default.fileExists(atPath: path + "/view.differs")
                #expect(isNoted == (2 * others > gateways), "order \(order), at \(place)")
            }
            // Of equal halves nobody knows which one is right.
            #expect((checks.problem == nil) == (2 * others < gateways), "order \(order)")
            let again = ComparedGateway().checks(in: path)
            #expect((again.problem != nil) == (2 * others > gateways), "order \(order)")
        }
    }

    @Test("The note that a gateway is wrong is removed once most have said what it has")
    func noteRemoved() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let gateway = ComparedGateway()
        let checks = gateway.checks(in: folder.url.path)
        checks.applied(Self.entry(1, at: 0, by: 1))
        checks.applied(Self.entry(2, at: 10, by: 1))
        let own = try await gateway.check(of: 1)
        // Two have written nothing for a while.
        gateway.present.withLock { $0 = [1, 2, 3] }
        func hear(_ check: ResultCheck, from session: Int64) {
            checks.applied(Self.entry(session + 2, at: 10, by: session, [.checked(check)]))
        }
        hear(own, from: 1)
        for session in [2, 3] as [Int64] { hear(Self.other(own), from: session) }
        let note = folder.url.path + "/view.differs"
        #expect(checks.problem != nil && FileManager.default.fileExists(atPath: note))
        for session in [4, 5] as [Int64] { hear(own, from: session) }
        #expect(checks.problem == nil && !FileManager.default.fileExists(atPath: note))
    }

    @Test(
        "Of two gateways with different results both are ready once one is made anew and they agree"
    )
    func agreeAgain() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let gateway = ComparedGateway()
        let checks = gateway.checks(in: folder.url.path)
        gateway.present.withLock { $0 = [1, 2] }
        var (sequence, span) = (Int64(0), 0)
        func apply(by session: Int64, _ outcomes: [CommandOutcome] = []) {
            sequence += 1
            checks.applied(
                Self.entry(sequence, at: Int64(10 * span), by: session, outcomes))
        }
        /// A span ends, of which this gateway and another say their results.
        func hear(from session: Int64, isOther: Bool = false) async throws {
            apply(by: 1)
            span += 1
            apply(by: 1)
            let own = try await gateway.check(of: span)
            apply(by: 1, [.checked(own)])
            apply(by: session, [.checked(isOther ? Self.other(own) : own)])
        }
        try await hear(from: 2, isOther: true)
        #expect(checks.problem?.contains("1 of 2") == true)
        try await hear(from: 2)
        #expect(checks.problem != nil, "equal results do not make the views equal")
        // The view of the other is made anew, and its former process is still counted.
        gateway.present.withLock { $0 = [1, 2, 3] }
        try await hear(from: 3)
        #expect(checks.problem != nil)
        gateway.present.withLock { $0 = [1, 3] }
        try await hear(from: 3)
        #expect(checks.problem == nil)
    }

    @Test("The name of a gateway with other results is shown up to its limit")
    func checkedName() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let checks = ComparedGateway().checks(in: folder.path)
        func apply(_ sequence: Int64, at seconds: Int64, _ outcomes: [CommandOutcome] = []) {
            checks.applied(Self.entry(sequence, at: seconds, by: 7, outcomes))
        }
        apply(1, at: 0)
        apply(2, at: 10)
        let name = String(repeating: "n", count: 100_000)
        let said = ResultCheck(first: 1, last: 1, digest: Array(1...32), name: name)
        apply(3, at: 10, [.checked(said)])
        let problem = try #require(checks.problem)
        #expect(problem.contains("(own) and nnn") && problem.utf8.count < 400)
    }

    @Test(
        "While the leader's clock is a day off messages are stored, time stands still, and it is said",
        arguments: [Duration.seconds(86_400), .seconds(-86_400)])
    func leaderClock(off: Duration) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let (stamps, right) = (ManualClock(), ManualClock())
        let journal = MemoryJournal(seed: 1, readers: 2, stamps: stamps, faults: .none)
        defer { journal.close() }
        var (members, running) = ([ClusterMember](), [Task<Void, any Error>]())
        for name in ["stays", "ends"] {
            let member = try await ClusterMember.join(
                SharedJournal(journal: journal), at: folder.path(name), name: name,
                implicitChannels: true, clock: WallOf(right), logger: RunningServer.logger)
            running.append(
                Task { try await member.replica.run { member.applied($0, isOwn: $1) } })
            try await member.barrier.pass()
            members.append(member)
        }
        let stays = members[0]
        func publish() async throws -> WallTime {
            let message = NewMessage(
                channel: try ChannelName("general"), id: .random(), body: [49])
            return try #require(try await stays.log.append([message]).first?.event).time
        }
        func problem() async throws -> String? {
            stays.health.heard(try await journal.status())
            return stays.problem
        }
        func writers() -> Int {
            stays.view.writers(within: ConnectedElsewhere.Settings().writtenWithin).count
        }
        let before = try await publish()
        #expect(try await problem() == nil && writers() == 2)
        running[1].cancel()
        _ = await running[1].result
        // Another node leads.
        stamps.jumpWall(by: off)
        for clock in [stamps, right] { clock.advance(by: .seconds(45)) }
        #expect(try await publish() == before)
        #expect(try await problem()?.hasPrefix("The clocks of NATS and of the gateways") == true)
        #expect(writers() == 2, "nobody is taken for gone")
        // One with a right clock does again.
        stamps.jumpWall(by: .zero - off)
        #expect(try await publish() == right.now)
        #expect(try await problem() == nil && writers() == 1)
        running[0].cancel()
        _ = await running[0].result
        for member in members { await member.close() }
    }

    @Test("The hello of a connection that has ended does not come into the journal later")
    func endedHello() async throws {
        try await withMember { member, journal in
            try await member.barrier.pass()
            journal.change { $0.faults = .init(lost: 100) }
            let sent = member.replica.figures.sent
            let arriving = Task {
                _ = try await member.arrive(.init(user: nil, device: .random()))
            }
            try await eventually("it is sent, and lost") { member.replica.figures.sent > sent }
            arriving.cancel()
            await #expect(throws: CancellationError.self) { try await arriving.value }
            #expect(member.waitingHellos == 0)
            journal.change { $0.faults = .none }
            try await member.barrier.pass()
            let commands = try journal.entries.flatMap { try ClusterEntry($0.bytes).commands }
            #expect(!commands.contains { if case .hello = $0 { true } else { false } })
        }
    }

    @Test("A hello beyond the limit of waiting hellos is refused", .limit("cluster.hellos"))
    func hellos() async throws {
        #expect(ClusterLimits.waitingHellos == 16_384)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let journal = MemoryJournal(
            seed: 1, readers: 1, stamps: SystemTimekeeper(), faults: .init(lost: 100))
        defer { journal.close() }
        let member = try await ClusterMember.join(
            SharedJournal(journal: journal), at: folder.path, implicitChannels: true)
        let running = Task { try await member.replica.run() }
        try await withThrowingTaskGroup(of: RepriseError.Code?.self) { group in
            for _ in 0..<ClusterLimits.waitingHellos {
                group.addTask {
                    do {
                        _ = try await member.arrive(.init(user: nil, device: .random()))
                        return nil
                    } catch {
                        return (error as? RepriseError)?.code
                    }
                }
            }
            try await eventually("all wait") {
                member.waitingHellos == ClusterLimits.waitingHellos
            }
            await expectError(.full) {
                _ = try await member.arrive(.init(user: nil, device: .random()))
            }
            running.cancel()
            for try await code in group { #expect(code == .closed) }
        }
        #expect(member.waitingHellos == 0)
        _ = await running.result
        await member.close()
    }
}
