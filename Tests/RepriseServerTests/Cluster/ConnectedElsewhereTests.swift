import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Over a journal in the process; ``ClusterEarlyPushTests`` has whole servers.
@Suite("Which devices are connected to another gateway", .timeLimit(.minutes(1)))
struct ConnectedElsewhereTests {
    @Test(
        "a gateway that reports its end is waited for neither by the current question nor by the next"
    )
    func ended() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let journal = MemoryJournal(
            seed: 1, readers: 2, stamps: SystemTimekeeper(), faults: .none)
        defer { journal.close() }
        var settings = ConnectedElsewhere.Settings()
        settings.answerWithin = .seconds(20)
        let metrics = ServerMetrics()
        var (members, all) = ([ClusterMember](), [ConnectedElsewhere]())
        var running: [Task<Void, Never>] = []
        for name in ["asks", "ends"] {
            let member = try await ClusterMember.join(
                SharedJournal(journal: journal), at: folder.path(name), implicitChannels: true,
                logger: RunningServer.logger)
            let elsewhere = ConnectedElsewhere(
                member, ConnectedDevices(), settings, metrics: metrics, clock: SystemTimekeeper())
            running.append(
                Task {
                    _ = try? await member.replica.run { entry, isOwn in
                        member.applied(entry, isOwn: isOwn)
                        elsewhere.applied(entry, isOwn: isOwn)
                    }
                })
            try await member.barrier.pass()
            members.append(member)
            all.append(elsewhere)
        }
        try await members[0].barrier.pass()
        let (asks, ends) = (all[0], all[1])
        // The other one hears nothing, and so answers nothing.
        running.append(Task { await asks.hear() })
        try await eventually("it hears, and counts what is no message") {
            journal.say([9], on: .connected)
            return metrics.text().contains(/reprise_cluster_connected_ignored_total [1-9]/)
        }
        var heard = journal.said(on: .connected).makeAsyncIterator()
        let devices = [ConnectingDevice(user: user("bob"), device: try EntryID("phone"))]
        async let underWay = asks.connected(of: devices)
        let bytes = try #require(await heard.next())
        let ask = try #require(ConnectedNews(bytes))
        #expect(ask.content == .asked(devices))
        ends.end()
        let found = await underWay
        #expect(found.isEmpty)
        let next = await asks.connected(of: devices)
        #expect(next.isEmpty)
        for task in running { task.cancel() }
        for task in running { await task.value }
        for member in members { await member.close() }
    }
}
