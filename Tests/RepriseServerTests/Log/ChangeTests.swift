import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

/// Edits, deletions, and who may.
@Suite("Edits and deletions in a log")
struct ChangeTests {
    let room: ChannelName
    let other: ChannelName
    let ada: UserID
    let bob: UserID

    init() throws {
        room = try ChannelName("room")
        other = try ChannelName("other")
        ada = try UserID("ada")
        bob = try UserID("bob")
    }

    private func said(
        _ body: String = #""hello""#, by user: UserID?, in channel: ChannelName? = nil,
        id: EntryID = .random(), after: EntryID? = nil
    ) -> NewMessage {
        NewMessage(
            channel: channel ?? room, id: id, after: after, from: user, body: Array(body.utf8))
    }

    private func change(
        _ change: MessageChange<EntryID>, by user: UserID?, mayChangeOthers: Bool = false,
        body: String = #""changed""#, id: EntryID = .random()
    ) -> NewMessage {
        NewMessage(
            channel: room, id: id, change: change, from: user, mayChangeOthers: mayChangeOthers,
            body: Array(body.utf8))
    }

    /// What is stored before one change is tried.
    enum Before: String, CaseIterable {
        case nothing, ownMessage, othersMessage, nobodysMessage, ownEdit, ownDeletion, deleted
        case trimmed, inAnotherChannel, itself
    }

    /// What becomes of an edit, of a deletion, and of a deletion by who may change others'
    /// messages.
    static let rules: [(Before, edit: String, deletion: String, ownersDeletion: String)] = [
        (.nothing, "noSuchMessage", "buried", "buried"),
        (.ownMessage, "stored", "stored", "stored"),
        (.othersMessage, "forbidden", "forbidden", "stored"),
        (.nobodysMessage, "forbidden", "forbidden", "stored"),
        (.ownEdit, "noSuchMessage", "stored", "stored"),
        (.ownDeletion, "noSuchMessage", "noSuchMessage", "noSuchMessage"),
        (.deleted, "noSuchMessage", "stored", "stored"),
        (.trimmed, "noSuchMessage", "noSuchMessage", "stored"),
        (.inAnotherChannel, "noSuchMessage", "noSuchMessage", "noSuchMessage"),
        (.itself, "noSuchMessage", "noSuchMessage", "noSuchMessage"),
    ]

    @Test("each change of each kind of message is stored or refused by the rules", arguments: rules)
    func table(before: Before, edit: String, deletion: String, owners: String) async throws {
        for (kind, expected) in [("edit", edit), ("deletion", deletion), ("owner's", owners)] {
            for log in LogUnderTest.all {
                try await log.run { store in
                    let id = EntryID.random()
                    let target = try await prepare(before, store, itself: id)
                    let message = change(
                        kind == "edit" ? .edits(target) : .deletes(target), by: ada,
                        mayChangeOthers: kind == "owner's", id: id)
                    let result = try await store.append([message]).first
                    #expect(Self.word(result) == expected, "\(kind), \(before)")
                }
            }
        }
    }

    private static func word(_ result: AppendResult?) -> String {
        switch result {
        case .stored?: "stored"
        case .buried?: "buried"
        case .duplicate?: "duplicate"
        case .refused(let code, _)?: "\(code)"
        case nil: "nothing"
        }
    }

    /// Makes the log so, and names the message to change.
    private func prepare(
        _ before: Before, _ store: any LogUnderTestStore, itself: EntryID
    ) async throws -> EntryID {
        let own = said(by: ada)
        switch before {
        case .nothing:
            _ = try await store.append([own])
            return .random()
        case .ownMessage:
            _ = try await store.append([own])
            return own.id
        case .othersMessage, .nobodysMessage:
            let message = said(by: before == .othersMessage ? bob : nil)
            _ = try await store.append([message])
            return message.id
        case .ownEdit, .ownDeletion:
            let first = change(
                before == .ownEdit ? .edits(own.id) : .deletes(own.id), by: ada)
            _ = try await store.append([own, first])
            return first.id
        case .deleted:
            _ = try await store.append([own, change(.deletes(own.id), by: ada)])
            return own.id
        case .trimmed:
            _ = try await store.append([own, said(by: ada)])
            _ = try await store.log.trim(room, through: 1)
            return own.id
        case .inAnotherChannel:
            let message = said(by: ada, in: other)
            _ = try await store.append([own, message])
            return message.id
        case .itself: return itself
        }
    }

    @Test("a change is an event of its own, which names the earlier one by sequence, and who")
    func events() async throws {
        try await LogUnderTest.sqlite.run { store in
            let first = said(by: ada)
            let edit = change(.edits(first.id), by: ada)
            let deletion = change(.deletes(first.id), by: bob, mayChangeOthers: true)
            let events = try await store.append([first, edit, deletion]).compactMap(\.event)
            #expect(events.map(\.seq) == [1, 2, 3])
            #expect(events.map(\.change) == [nil, .edits(1), .deletes(1)])
            #expect(events.map(\.from) == [ada, ada, bob])
            #expect(events.map(\.isDeleted) == [false, false, false])
            #expect(String(decoding: events[2].body, as: UTF8.self) == "null")
            try await store.reopen()
            let page = try await store.everything(in: room)
            #expect(page.events.map(\.change) == [nil, .edits(1), .deletes(1)])
            #expect(page.events.map(\.from) == [ada, ada, bob])
            #expect(page.events.map(\.isDeleted) == [true, true, false])
            #expect(page.events.allSatisfy { $0.body == AppendRules.nothing })
            #expect(page.events.map(\.id) == [first.id, edit.id, deletion.id])
        }
    }

    @Test("a deletion blanks its target and the target's edits, and no other message's")
    func blanks() async throws {
        try await LogUnderTest.sqlite.run { store in
            let (first, second) = (said(by: ada), said(by: ada))
            _ = try await store.append([
                first, second, change(.edits(first.id), by: ada),
                change(.edits(second.id), by: ada), change(.edits(first.id), by: ada),
                change(.deletes(first.id), by: ada),
            ])
            let page = try await store.everything(in: room)
            #expect(page.events.map(\.isDeleted) == [true, false, true, false, true, false])
            #expect(page.events[1].body == second.body)
            #expect(page.events.map(\.prev) == [0, 1, 2, 3, 4, 5])
        }
    }

    @Test("a deletion of an edit takes back that edit alone")
    func editTakenBack() async throws {
        try await LogUnderTest.sqlite.run { store in
            let first = said(by: ada)
            let edit = change(.edits(first.id), by: ada)
            _ = try await store.append([first, edit, change(.deletes(edit.id), by: ada)])
            let page = try await store.everything(in: room)
            #expect(page.events.map(\.isDeleted) == [false, true, false])
            #expect(page.events[2].change == .deletes(2))
        }
    }

    @Test(
        "a message that was deleted before it came is a duplicate when it comes, and stays without a body"
    )
    func buried() async throws {
        try await LogUnderTest.sqlite.run { store in
            let late = said(by: ada)
            let deletion = change(.deletes(late.id), by: ada)
            let results = try await store.append([deletion, late])
            #expect(results[0].events.map(\.seq) == [1, 2])
            #expect(results[0].events.map(\.id) == [late.id, deletion.id])
            #expect(results[0].events.map(\.isDeleted) == [true, false])
            #expect(results[0].event?.change == .deletes(1))
            #expect(results[1] == .duplicate(seq: 1))
            try await store.reopen()
            #expect(
                try await store.append([late, deletion]) == [
                    .duplicate(seq: 1), .duplicate(seq: 2),
                ])
            #expect(
                try await store.append([change(.edits(late.id), by: ada)])[0].refusal
                    == .noSuchMessage)
            let page = try await store.everything(in: room)
            #expect(page.events == results[0].events)
        }
    }

    @Test(
        "a message that was deleted before it came is no predecessor until it comes, also after a restart"
    )
    func buriedPredecessor() async throws {
        try await LogUnderTest.sqlite.run { store in
            let first = said(by: ada)
            let second = said(by: ada, after: first.id)
            let third = said(by: ada, after: second.id)
            _ = try await store.append([change(.deletes(second.id), by: ada)])
            // The first waits, so the second does, and what is behind it.
            #expect(try await store.append([third])[0].refusal == .predecessorMissing)
            #expect(try await store.append([second])[0].refusal == .predecessorMissing)
            try await store.reopen()
            #expect(try await store.append([third])[0].refusal == .predecessorMissing)
            #expect(try await store.append([first])[0].event?.seq == 3)
            #expect(try await store.append([third])[0].refusal == .predecessorMissing)
            #expect(try await store.append([second])[0] == .duplicate(seq: 1))
            try await store.reopen()
            #expect(try await store.append([third])[0].event?.seq == 4)
            #expect(try await store.append([second])[0] == .duplicate(seq: 1))
        }
    }

    @Test(
        "beyond the limit, the earliest message deleted before it came counts as arrived",
        .limit("log.awaited"))
    func awaitedBound() async throws {
        let folder = try TemporaryFolder()
        var configuration = SQLiteMessageLog.Configuration()
        configuration.awaitedMessages = 2
        let log = try SQLiteMessageLog.open(at: folder.path, configuration)
        let buried = (1...3).map { _ in EntryID.random() }
        _ = try await log.append(buried.map { change(.deletes($0), by: ada) })
        let results = try await log.append(buried.map { said(by: ada, after: $0) })
        #expect(results.map { $0.event?.seq } == [7, nil, nil])
        #expect(results[1].refusal == .predecessorMissing)
        await log.close()
    }

    @Test("a change waits for its predecessor like any message, and is stored once")
    func predecessor() async throws {
        try await LogUnderTest.sqlite.run { store in
            let first = said(by: ada)
            let edit = NewMessage(
                channel: room, id: .random(), after: first.id, change: .edits(first.id), from: ada,
                body: [0x31])
            let early = try await store.append([edit])
            #expect(early[0].refusal == .predecessorMissing)
            let results = try await store.append([first, edit, edit])
            #expect(results[2] == .duplicate(seq: 2))
        }
    }

    @Test("a batch that fails leaves bodies and heads as they were")
    func failure() async throws {
        let store = try SQLiteStore()
        try await store.reopen()
        let first = said(by: ada)
        _ = try await store.append([first])
        struct Failure: Error {}
        #expect(throws: RepriseError.self) {
            try store.sqlite.stepped.append(
                [change(.deletes(first.id), by: ada), change(.deletes(.random()), by: ada)],
                now: WallTime(milliseconds: 1)
            ) { _ in throw Failure() }
        }
        let page = try await store.everything(in: room)
        #expect(page.events.map(\.body) == [first.body])
        #expect(try await store.append([said(by: ada)])[0].event?.seq == 2)
        await store.remove()
    }
}
