import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("What is unread in a log")
struct UnreadTests {
    let room: ChannelName
    let ada: UserID
    let bob: UserID

    init() throws {
        room = try ChannelName("room")
        ada = try UserID("ada")
        bob = try UserID("bob")
    }

    private func said(
        by user: UserID?, _ change: MessageChange<EntryID>? = nil, id: EntryID = .random()
    ) -> NewMessage {
        NewMessage(channel: room, id: id, change: change, from: user, body: [0x31])
    }

    @Test(
        "is what others said behind the position: no edit, no deletion, nothing deleted, nothing trimmed",
        arguments: LogUnderTest.all)
    func counts(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let (first, second) = (said(by: bob), said(by: bob))
            _ = try await store.append([
                first, second, said(by: ada), said(by: nil), said(by: bob, .edits(second.id)),
                said(by: bob, .deletes(first.id)), said(by: bob),
            ])
            let log = store.log
            #expect(try await log.unread(of: ada, in: room, after: 0) == Unread(count: 3, head: 7))
            #expect(try await log.unread(of: ada, in: room, after: 2) == Unread(count: 2, head: 7))
            #expect(try await log.unread(of: bob, in: room, after: 0) == Unread(count: 2, head: 7))
            #expect(try await log.unread(of: ada, in: room, after: 7) == Unread(count: 0, head: 7))
            #expect(try await log.unread(of: ada, in: room, after: 99) == Unread(count: 0, head: 7))
            _ = try await log.trim(room, through: 2)
            #expect(try await log.unread(of: ada, in: room, after: 0) == Unread(count: 2, head: 7))
            let empty = try ChannelName("empty")
            #expect(try await log.unread(of: ada, in: empty, after: 0) == Unread(count: 0, head: 0))
        }
    }

    @Test("is counted up to 10,000", arguments: LogUnderTest.all)
    func bound(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            _ = try await store.append((0..<10_100).map { _ in said(by: bob) })
            let clock = ContinuousClock()
            let start = clock.now
            let unread = try await store.log.unread(of: ada, in: room, after: 50)
            print("counting 10,000 unread: \(clock.now - start)")
            #expect(unread == Unread(count: 10_000, head: 10_100))
            #expect(try await store.log.unread(of: ada, in: room, after: 200).count == 9_900)
        }
    }
}
