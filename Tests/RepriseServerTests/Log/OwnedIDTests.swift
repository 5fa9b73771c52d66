import GRDB
import RepriseCore
import RepriseServer
import RepriseWire
import Testing

@Suite("An id of a log belongs to its author", .timeLimit(.minutes(1)))
struct OwnedIDTests {
    let room: ChannelName
    let cellar: ChannelName
    let ada: UserID
    let eve: UserID

    init() throws {
        room = try ChannelName("room")
        cellar = try ChannelName("cellar")
        ada = try UserID("ada")
        eve = try UserID("eve")
    }

    private func said(
        by user: UserID?, id: EntryID = .random(), in channel: ChannelName? = nil,
        _ change: MessageChange<EntryID>? = nil, mayChangeOthers: Bool = false
    ) -> NewMessage {
        NewMessage(
            channel: channel ?? room, id: id, change: change, from: user,
            mayChangeOthers: mayChangeOthers, body: [0x31])
    }

    @Test(
        "a user who publishes another's id is refused in every channel with the same message; its author gets a duplicate",
        arguments: LogUnderTest.all)
    func taken(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let (open, hidden) = (said(by: ada), said(by: ada, in: cellar))
            _ = try await store.append([open, hidden])
            let refused = try await store.append([
                said(by: eve, id: open.id), said(by: eve, id: hidden.id),
                said(by: ada, id: hidden.id),
            ])
            #expect(refused.map(\.refusal) == [.conflict, .conflict, .conflict])
            #expect(Set(refused).count == 1, "the words are the same")
            #expect(try await store.append([open]) == [.duplicate(seq: 1)])
            #expect(try await store.log.state(of: room).head == 1)
        }
    }

    @Test(
        "a user who deletes a message before it comes blocks that id for its author, who is told to take a fresh id, and that one is stored",
        arguments: LogUnderTest.all)
    func buried(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let id = EntryID.random()
            guard case .buried = try await store.append([said(by: eve, .deletes(id))])[0] else {
                Issue.record("it is not buried")
                return
            }
            #expect(try await store.append([said(by: ada, id: id)])[0].refusal == .conflict)
            let fresh = try await store.append([said(by: ada)])[0].event
            #expect(fresh?.seq == 3 && fresh?.isDeleted == false)
            #expect(try await store.append([said(by: eve, id: id)]) == [.duplicate(seq: 1)])
        }
    }

    @Test(
        "a user who may delete every message of the channel may delete one before it comes: it is deleted when it comes",
        arguments: LogUnderTest.all)
    func managed(_ kind: LogUnderTest) async throws {
        try await kind.run { store in
            let id = EntryID.random()
            let deletion = said(by: eve, .deletes(id), mayChangeOthers: true)
            guard case .buried = try await store.append([deletion])[0] else {
                Issue.record("it is not buried")
                return
            }
            try await store.reopen()
            let elsewhere = try await store.append([said(by: ada, id: id, in: cellar)])
            #expect(elsewhere[0].refusal == .conflict)
            #expect(try await store.append([said(by: ada, id: id)]) == [.duplicate(seq: 1)])
        }
    }

    @Test(
        "an id stays its author's after its message was trimmed, when ids are sealed, and over restarts"
    )
    func stays() async throws {
        let store = try SQLiteStore { $0.idsPerRun = 8 }
        try await store.reopen()
        let ids = (0..<40).map { _ in EntryID.random() }
        for id in ids { _ = try await store.append([said(by: ada, id: id)]) }
        _ = try await store.log.trim(room, through: 40)
        for _ in 0..<2 {
            for (index, id) in ids.enumerated() {
                let results = try await store.append([said(by: eve, id: id), said(by: ada, id: id)])
                #expect(results[0].refusal == .conflict)
                #expect(results[1] == .duplicate(seq: Int64(index + 1)))
            }
            try await store.reopen()
        }
        await store.remove()
    }

    @Test("an id that an open server or an earlier version has stored belongs to every user")
    func unknown() async throws {
        let store = try SQLiteStore { $0.idsPerRun = 4 }
        try await store.reopen()
        let nobodys = (0..<9).map { _ in said(by: nil) }
        _ = try await store.append(nobodys)
        let former = (0..<9).map { _ in said(by: ada) }
        for message in former { _ = try await store.append([message]) }
        await store.close()
        try store.change(
            """
            UPDATE recent_ids SET owner = NULL; UPDATE recent_ids2 SET owner = NULL;
            UPDATE ids SET owner = NULL
            """)
        try await store.reopen()
        for (index, message) in (nobodys + former).enumerated() {
            let again = try await store.append([said(by: eve, id: message.id)])
            #expect(again == [.duplicate(seq: Int64(index + 1))])
        }
        await store.remove()
    }
}
