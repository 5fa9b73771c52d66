import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Testing

/// Two whole servers over one journal in the process, each with a provider of its own.
@Suite("A cluster that pushes", .timeLimit(.minutes(2)))
struct ClusterPushTests {
    private func withGateways(
        _ limits: ServerLimits = ServerLimits(),
        _ body: ([RunningServer], [RecordingProvider]) async throws -> Void
    ) async throws {
        let journal = MemoryJournal(
            seed: 5, readers: 2, stamps: SystemTimekeeper(), faults: ClusterStore.faults)
        defer { journal.close() }
        let shared = SharedJournal(journal: journal)
        let providers = [RecordingProvider(), RecordingProvider()]
        let web = RecordingProvider(.webPush)
        try await RunningServer.with(limits, journal: shared, providers: [providers[0], web]) {
            first in
            try await RunningServer.with(limits, journal: shared, providers: [providers[1], web]) {
                second in
                try await body([first, second], providers)
            }
        }
    }

    private func cluster(_ server: RunningServer) throws -> ClusterMember {
        try #require(server.gateway.cluster)
    }

    /// A channel of Ada's with Bob, who has a phone and a tablet.
    private func people(_ member: ClusterMember, _ room: ChannelName) async throws {
        let (ada, bob) = (try UserID("ada"), try UserID("bob"))
        let owner = Principal(user: ada)
        let accounts = member.accounts
        try await accounts.perform(
            SetChannel(room, ChannelSettings(visibility: .private), by: owner))
        try await accounts.perform(SetMember(bob, .member, in: room, by: owner))
        for (device, token) in [("phone", "aa"), ("tablet", "bb")] {
            try await accounts.perform(
                SetDevice(
                    try EntryID(device), of: bob, platform: "ios",
                    pushToken: try PushToken(token)))
        }
    }

    private func publish(_ id: String, _ member: ClusterMember, _ room: ChannelName) async throws {
        let message = NewMessage(
            channel: room, id: try EntryID(id), from: try UserID("ada"),
            body: Array(#"{"text":"Hi"}"#.utf8))
        #expect(try await member.log.append([message]).first?.event != nil)
    }

    private func somebodyPushes(_ members: [ClusterMember]) async throws {
        try await eventually("somebody pushes") {
            try await members[0].accounts.pushQueue.scans.hasBegun(.apns)
                != members[1].accounts.pushQueue.scans.hasBegun(.apns)
        }
    }

    /// What was pushed is known at a gateway.
    private func isTold(_ member: ClusterMember, of seq: Int64, in room: ChannelName) async throws {
        try await eventually("the delivery is told everywhere") {
            let states = try await member.accounts.positions.deliveries(
                of: seq, in: room, after: nil, limit: 9)
            return states.contains { $0.state == .pushed }
        }
    }

    @Test("One gateway pushes the messages of all gateways, once; when it ends another goes on")
    func handedOver() async throws {
        try await withGateways { servers, providers in
            let members = try servers.map(cluster)
            let room = try ChannelName("room")
            try await people(members[0], room)
            try await somebodyPushes(members)
            try await publish("m1", members[0], room)
            try await publish("m2", members[1], room)
            try await eventually("both are pushed to both devices", within: .seconds(30)) {
                providers.flatMap(\.ids).count == 4
            }
            #expect(providers.contains { $0.pushes.isEmpty }, "one gateway pushes")
            let holder = providers[0].pushes.isEmpty ? 1 : 0
            let tablet = try EntryID("tablet")
            try await isTold(members[1 - holder], of: 2, in: room)
            // Bob reads on his tablet: his phone's banner goes.
            try await members[1 - holder].accounts.perform(
                MovePosition(
                    channel: room, user: try UserID("bob"), device: tablet, read: 2,
                    delivered: nil))
            try await eventually("the banner on the phone goes", within: .seconds(30)) {
                providers[holder].pushes.contains { $0.hint.kind == .dismiss }
            }
            await servers[holder].group.triggerGracefulShutdown()
            try await publish("m3", members[1 - holder], room)
            try await eventually("the other pushes", within: .seconds(40)) {
                providers[1 - holder].ids.count == 2
            }
            #expect(providers[1 - holder].ids == ["m3", "m3"], "and nothing that was pushed")
        }
    }

    @Test("A gateway that ends hands its pushes over before its last connection has ended")
    func handedOverEarly() async throws {
        var limits = ServerLimits()
        (limits.shutdown, limits.closeHandshake) = (.seconds(40), .seconds(40))
        try await withGateways(limits) { servers, providers in
            let members = try servers.map(cluster)
            let room = try ChannelName("room")
            try await people(members[0], room)
            try await somebodyPushes(members)
            try await publish("m1", members[0], room)
            try await eventually("it is pushed to both devices", within: .seconds(30)) {
                providers.flatMap(\.ids).count == 2
            }
            let holder = providers[0].pushes.isEmpty ? 1 : 0
            try await isTold(members[1 - holder], of: 1, in: room)
            // It does not answer the close frame.
            let stubborn = try await servers[holder].client()
            await servers[holder].group.triggerGracefulShutdown()
            try await eventually("it no longer pushes", within: .seconds(10)) {
                members[holder].leases.grant(of: .apns) == nil
            }
            try await publish("m2", members[1 - holder], room)
            try await eventually("the other pushes", within: .seconds(20)) {
                providers[1 - holder].ids.count == 2
            }
            #expect(providers[1 - holder].ids == ["m2", "m2"], "and nothing that was pushed")
            #expect(servers[holder].connections == 1)
            stubborn.socket.endSending()
        }
    }

    @Test(
        "Messages that are read while the pushing gateway ends are dismissed by the next",
        .limit("push.handover"))
    func dismissedByTheNext() async throws {
        #expect(PushLimits.handover == .seconds(30) && PushLimits.handoverReads == 10_000)
        try await withGateways { servers, providers in
            let members = try servers.map(cluster)
            let room = try ChannelName("room")
            try await people(members[0], room)
            try await somebodyPushes(members)
            try await publish("m1", members[0], room)
            try await eventually("it is pushed to both devices", within: .seconds(30)) {
                providers.flatMap(\.ids).count == 2
            }
            let holder = providers[0].pushes.isEmpty ? 1 : 0
            let next = members[1 - holder]
            try await isTold(next, of: 1, in: room)
            // Its dismissal is due in two seconds; the queue that it waits in ends before.
            try await next.accounts.perform(
                MovePosition(
                    channel: room, user: try UserID("bob"), device: try EntryID("tablet"), read: 1,
                    delivered: nil))
            await servers[holder].group.triggerGracefulShutdown()
            try await eventually("the banner on the phone goes", within: .seconds(40)) {
                providers[1 - holder].pushes.contains { $0.hint.kind == .dismiss }
            }
            #expect(providers[1 - holder].ids.isEmpty, "and nothing is pushed again")
        }
    }
}
