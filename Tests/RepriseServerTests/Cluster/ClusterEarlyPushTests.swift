import Foundation
import RepriseCluster
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Synchronization
import Testing

/// Two whole servers over a real nats-server; docs/push.md.
@Suite("Pushes of a cluster to devices that are not connected", .timeLimit(.minutes(2)))
struct ClusterEarlyPushTests {
    private let room = channel("room")

    /// What any gateway has pushed, in order.
    private final class Pushes: Sendable {
        struct One: Sendable {
            let token: String
            let id: String?
            let at: ContinuousClock.Instant
        }

        private let pushed = Mutex<[One]>([])

        var all: [One] { pushed.withLock { $0 } }

        func provider() -> RecordingProvider {
            RecordingProvider { push, _ in
                guard case .apns(let token) = push.address else { return .accepted }
                let one = One(token: token.text, id: push.hint.id?.text, at: .now)
                self.pushed.withLock { $0.append(one) }
                return .accepted
            }
        }
    }

    private struct Gateways {
        let servers: [RunningServer]
        let members: [ClusterMember]
        let journals: [MutedJournal]
        let pushes: Pushes
        /// The one that pushes.
        let holder: Int
        /// Of nobody: for what a stranger says and hears.
        let stranger: NatsJournal
    }

    /// Runs `body` with two gateways, and a channel of Ada's with Bob, who has two phones.
    private func withGateways(
        _ settings: ConnectedElsewhere.Settings, _ body: (Gateways) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
        defer { server.kill() }
        let (pushes, authenticator) = (Pushes(), TrustingAuthenticator())
        let journals = [
            MutedJournal(try await NatsStore.journal(server.url)),
            MutedJournal(try await NatsStore.journal(server.url)),
        ]
        let stranger = try await NatsStore.journal(server.url)
        try await RunningServer.with(
            authenticator: authenticator, journal: journals[0], providers: [pushes.provider()],
            elsewhere: settings
        ) { first in
            try await RunningServer.with(
                authenticator: authenticator, journal: journals[1], providers: [pushes.provider()],
                elsewhere: settings
            ) { second in
                let members = try [first, second].map { try #require($0.gateway.cluster) }
                try await people(members[0])
                try await eventually("somebody pushes", within: .seconds(30)) {
                    try await isPushing(members[0]) != isPushing(members[1])
                }
                let holder = try await isPushing(members[0]) ? 0 : 1
                try await body(
                    Gateways(
                        servers: [first, second], members: members, journals: journals,
                        pushes: pushes, holder: holder, stranger: stranger))
            }
        }
        await stranger.close()
    }

    private func isPushing(_ member: ClusterMember) async throws -> Bool {
        try await member.accounts.pushQueue.scans.hasBegun(.apns)
    }

    private func people(_ member: ClusterMember) async throws {
        let (owner, bob) = (Principal(user: user("ada")), user("bob"))
        let accounts = member.accounts
        try await accounts.perform(
            SetChannel(room, ChannelSettings(visibility: .private), by: owner))
        try await accounts.perform(SetMember(bob, .member, in: room, by: owner))
        for (device, token) in [("here", "aaaa"), ("away", "bbbb")] {
            try await accounts.perform(
                SetDevice(
                    try EntryID(device), of: bob, platform: "ios",
                    pushToken: try PushToken(token)))
        }
    }

    private func publish(_ id: String, _ member: ClusterMember) async throws {
        let message = NewMessage(
            channel: room, id: try EntryID(id), from: user("ada"),
            body: Array(#"{"text":"Hi"}"#.utf8))
        #expect(try await member.log.append([message]).first?.event != nil)
    }

    /// Of one push after another, so that they are of different scans.
    private func expectApart(
        _ first: Pushes.One, _ second: Pushes.One, since start: ContinuousClock.Instant,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            second.at - start >= PushLimits.grace && second.at - first.at >= .seconds(1),
            sourceLocation: sourceLocation)
    }

    @Test(
        "a device connected to another gateway is pushed after five seconds, a device connected to none at once; each once"
    )
    func elsewhere() async throws {
        var settings = ConnectedElsewhere.Settings()
        settings.answerWithin = .seconds(3)  // A busy machine is no silent gateway.
        try await withGateways(settings) { gateways in
            let here = try await gateways.servers[1 - gateways.holder].client(
                as: "bob", device: try EntryID("here"))
            let start = ContinuousClock.now
            try await publish("m1", gateways.members[1 - gateways.holder])
            try await eventually("both are pushed", within: .seconds(20)) {
                gateways.pushes.all.count >= 2
            }
            let all = gateways.pushes.all
            #expect(all.map(\.token) == ["bbbb", "aaaa"])
            expectApart(all[0], all[1], since: start)
            try await publish("m2", gateways.members[0])
            try await eventually("the next one is pushed", within: .seconds(20)) {
                gateways.pushes.all.contains { $0.id == "m2" }
            }
            #expect(gateways.pushes.all.map(\.id) == ["m1", "m1", "m2"])
            _ = here
        }
    }

    @Test(
        "while a gateway does not answer, all devices have five seconds; once it answers they no longer do"
    )
    func silent() async throws {
        var settings = ConnectedElsewhere.Settings()
        (settings.answerWithin, settings.pause) = (.seconds(2), .zero)
        try await withGateways(settings) { gateways in
            let here = try await gateways.servers[1 - gateways.holder].client(
                as: "bob", device: try EntryID("here"))
            let silent = gateways.journals[1 - gateways.holder]
            silent.mute(true)
            let start = ContinuousClock.now
            try await publish("m1", gateways.members[0])
            try await eventually("both are pushed", within: .seconds(20)) {
                gateways.pushes.all.count >= 2
            }
            let all = gateways.pushes.all
            #expect(all.map(\.token).sorted() == ["aaaa", "bbbb"])
            #expect(all.allSatisfy { $0.at - start >= PushLimits.grace })
            silent.mute(false)
            let next = ContinuousClock.now
            try await publish("m2", gateways.members[0])
            try await eventually("both are pushed the next", within: .seconds(20)) {
                gateways.pushes.all.count >= 4
            }
            let rest = Array(gateways.pushes.all.dropFirst(2))
            #expect(rest.map(\.token) == ["bbbb", "aaaa"])
            expectApart(rest[0], rest[1], since: next)
            _ = here
        }
    }

    @Test("early pushes that a gateway reports before it ends are not sent again by the next")
    func handedOver() async throws {
        var settings = ConnectedElsewhere.Settings()
        settings.answerWithin = .seconds(3)
        try await withGateways(settings) { gateways in
            let next = 1 - gateways.holder
            try await publish("m1", gateways.members[next])
            try await eventually("both phones are pushed at once") {
                gateways.pushes.all.count >= 2
            }
            var heard = gateways.stranger.said(on: .connected).makeAsyncIterator()
            _ = try await gateways.stranger.status()
            await gateways.servers[gateways.holder].group.triggerGracefulShutdown()
            var ended: Int64?
            while ended == nil {
                let bytes = try #require(await heard.next())
                let news = try #require(ConnectedNews(bytes))
                if case .ended = news.content { ended = news.sender }
            }
            let session = try #require(ended)
            #expect(gateways.members[next].view.writers(within: .seconds(60)).contains(session))
            try await eventually("the other one pushes", within: .seconds(40)) {
                try await isPushing(gateways.members[next])
            }
            try await publish("m2", gateways.members[next])
            try await eventually("it does", within: .seconds(20)) {
                gateways.pushes.all.count { $0.id == "m2" } >= 2
            }
            #expect(gateways.pushes.all.map(\.id) == ["m1", "m1", "m2", "m2"])
        }
    }

    @Test("malformed messages, and answers that were not asked for, are ignored")
    func nonsense() async throws {
        var settings = ConnectedElsewhere.Settings()
        settings.answerWithin = .seconds(4)
        try await withGateways(settings) { gateways in
            let other = 1 - gateways.holder
            gateways.journals[other].mute(true)
            var heard = gateways.stranger.said(on: .connected).makeAsyncIterator()
            // A subscription counts once the server has it.
            _ = try await gateways.stranger.status()
            let start = ContinuousClock.now
            try await publish("m1", gateways.members[other])
            let bytes = try #require(await heard.next())
            let ask = try #require(ConnectedNews(bytes))
            guard case .asked(let devices) = ask.content else {
                Issue.record("\(ask)")
                return
            }
            let writers = gateways.members[other].view.writers(within: settings.writtenWithin)
            let sessions = writers.subtracting([ask.sender])
            #expect(sessions.count == 1 && devices.count == 2)
            func answer(_ from: Int64, _ places: [Int64], to number: Int64) -> [UInt8] {
                ConnectedNews(
                    from: from, number: number, .answered(to: ask.sender, places)
                ).bytes
            }
            let session = try #require(sessions.first)
            let good = answer(session, [.min, -1, 0, 2, .max], to: ask.number)
            let wrong = [
                [], [9, 9], Array(good.dropLast()), good + [1],
                answer(session + 1, [0, 1], to: ask.number),
                answer(session, [0, 1], to: ask.number + 1),
            ]
            for bytes in wrong + [good] { gateways.stranger.say(bytes, on: .connected) }
            try await eventually("both are pushed", within: .seconds(20)) {
                gateways.pushes.all.count >= 2
            }
            let all = gateways.pushes.all
            let first = devices[1].device.text == "away" ? "bbbb" : "aaaa"
            #expect(all.first?.token == first)
            expectApart(all[0], all[1], since: start)
            for server in gateways.servers {
                try await eventually("what is no message is counted") {
                    server.gateway.metrics.text().contains(
                        "reprise_cluster_connected_ignored_total 4\n")
                }
            }
        }
    }

    @Test(
        "a question names a bounded number of devices; a gateway that does not answer in time is not asked for 5 s",
        .limit("push.connected"))
    func limits() async throws {
        let settings = ConnectedElsewhere.Settings()
        #expect(settings.answerWithin == .milliseconds(250) && settings.pause == .seconds(5))
        #expect(settings.writtenWithin == .seconds(30) && ConnectedNews.devices == 1_000)
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = try await NatsServer.start(in: folder.url.appending(path: "nats"))
        defer { server.kill() }
        let muted = MutedJournal(try await NatsStore.journal(server.url))
        let journals: [any ClusterJournal] = [try await NatsStore.journal(server.url), muted]
        var (members, all) = ([ClusterMember](), [ConnectedElsewhere]())
        var running: [Task<Void, Never>] = []
        for (number, journal) in journals.enumerated() {
            let member = try await ClusterMember.join(
                journal, at: folder.path("\(number)"), implicitChannels: true,
                logger: RunningServer.logger)
            let elsewhere = ConnectedElsewhere(
                member, ConnectedDevices(), metrics: ServerMetrics(), clock: SystemTimekeeper())
            running.append(
                Task {
                    async let _: Void = elsewhere.hear()
                    try? await member.replica.run { entry, isOwn in
                        member.applied(entry, isOwn: isOwn)
                        elsewhere.applied(entry, isOwn: isOwn)
                    }
                })
            try await member.barrier.pass()
            members.append(member)
            all.append(elsewhere)
        }
        for member in members { try await member.barrier.pass() }
        let stranger = try await NatsStore.journal(server.url)
        var heard = stranger.said(on: .connected).makeAsyncIterator()
        _ = try await stranger.status()
        let devices = try (0..<1_001).map {
            ConnectingDevice(user: user("bob"), device: try EntryID("d\($0)"))
        }
        let asking = all[0]
        // It may take longer on a busy machine; then nobody is asked for a while.
        try await eventually("all have answered", within: .seconds(40)) {
            await asking.connected(of: devices).isEmpty
        }
        var counts: [Int] = []
        while counts.last != 1 {
            let bytes = try #require(await heard.next())
            let news = try #require(ConnectedNews(bytes))
            if case .asked(let asked) = news.content { counts.append(asked.count) }
        }
        #expect(counts.suffix(2) == [1_000, 1])
        #expect(counts.allSatisfy { $0 <= 1_000 })
        muted.mute(true)
        let start = ContinuousClock.now
        #expect(await asking.connected(of: devices) == Set(devices))
        let first = ContinuousClock.now - start
        #expect(first >= settings.answerWithin)
        #expect(await asking.connected(of: devices) == Set(devices))
        let second = ContinuousClock.now - start - first
        muted.mute(false)
        try await eventually("it is asked again", within: .seconds(40)) {
            await asking.connected(of: [devices[0]]).isEmpty
        }
        var asks: [Int] = []
        while asks.last != 1 {
            let bytes = try #require(await heard.next())
            let news = try #require(ConnectedNews(bytes))
            if case .asked(let asked) = news.content { asks.append(asked.count) }
        }
        // Not in the pause, unless the machine was away for longer.
        #expect(asks == [1_000, 1] || second >= settings.pause)
        let long = ConnectedNews(from: 1, number: 1, .asked(devices))
        #expect(ConnectedNews(long.bytes) == nil)
        let short = ConnectedNews(from: 1, number: 1, .asked(Array(devices.dropLast())))
        #expect(ConnectedNews(short.bytes) == short)
        for task in running { task.cancel() }
        for task in running { await task.value }
        for member in members { await member.close() }
        await stranger.close()
    }
}
