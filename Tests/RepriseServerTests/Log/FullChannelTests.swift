import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// A channel whose sequences are used up: the same answer at a single server and in a cluster.
@Suite("A channel without sequences left", .timeLimit(.minutes(1)))
struct FullChannelTests {
    let room: ChannelName
    let other: ChannelName

    init() throws {
        room = try ChannelName("room")
        other = try ChannelName("other")
    }

    @Test(
        "On a single server refuses a message to store, and nothing else of the batch",
        .limit("wire.sequence"))
    func single() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        try await store.fill(room, 1)
        #expect(try await store.widenLast(by: WireLimits.greatestSequence - 3, in: room))
        try await expectAnswers(of: store)
        await store.remove()
    }

    @Test("In a cluster refuses the same at each gateway, and stops none")
    func cluster() async throws {
        let store = try ClusterStore()
        try await store.reopen()
        do {
            try await store.fill(room, 1)
            try await store.widenInViews(by: WireLimits.greatestSequence - 3, in: room)
            try await expectAnswers(of: store)
            for gateway in store.gateways {
                #expect(try await gateway.log.append([message(room)])[0].refusal == .channelFull)
                #expect(gateway.replica.problem == nil)
            }
            try await store.expectEqual()
        } catch {
            Issue.record(error)
        }
        await store.remove()
    }

    /// Of a store whose channel has two sequences left.
    private func expectAnswers(of store: any LogUnderTestStore) async throws {
        let greatest = WireLimits.greatestSequence
        #expect(try store.log.head(of: room) == greatest - 2)
        let last = message(room)
        #expect(try await store.append([message(room)])[0].event?.seq == greatest - 1)
        // A deletion of what was never stored takes two.
        let burial = NewMessage(
            channel: room, id: .random(), change: .deletes(.random()), mayChangeOthers: true,
            body: AppendRules.nothing)
        #expect(try await store.append([burial])[0].refusal == .channelFull)
        #expect(try store.log.head(of: room) == greatest - 1)
        let edit = NewMessage(
            channel: room, id: .random(), change: .edits(last.id), body: Array("2".utf8))
        let results = try await store.append([
            message(other), last, message(room), message(other), last, edit, burial,
        ])
        #expect(results[0].event?.seq == 1 && results[3].event?.seq == 2, "\(results)")
        #expect(results[1].event?.seq == greatest)
        for index in [2, 5, 6] { #expect(results[index].refusal == .channelFull, "\(results)") }
        #expect(results[4] == .duplicate(seq: greatest))
        try await store.reopen()
        #expect(try store.log.head(of: room) == greatest)
        #expect(try store.log.head(of: other) == 2)
        #expect(try await store.append([message(room)])[0].refusal == .channelFull)
        let page = try await store.everything(in: room)
        #expect(page.events.map(\.seq) == [greatest - 2, greatest - 1, greatest])
        #expect(page.events.map(\.prev) == [0, greatest - 2, greatest - 1])
    }
}
