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

    @Test("The name of a gateway with other results is shown up to its limit")
    func checkedName() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let checks = ResultChecks(
            name: "own", in: folder.path, submit: { _ in [] }, logger: RunningServer.logger)
        func apply(_ sequence: Int64, at seconds: Int64, _ outcomes: [CommandOutcome] = []) {
            checks.applied(
                AppliedEntry(
                    sequence: sequence, session: 7, n: sequence, bytes: 1,
                    time: WallTime(milliseconds: seconds * 1_000), disposition: .accepted,
                    outcomes: outcomes))
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
