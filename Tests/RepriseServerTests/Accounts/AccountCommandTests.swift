import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Synchronization
import Testing

/// Changes are decided when they are written: what happened between request and commit counts.
@Suite("Commands of accounts")
struct AccountCommandTests {
    private let room: ChannelName
    private let ada: UserID
    private let bob: UserID
    private let eve: UserID

    init() throws {
        room = try ChannelName("room")
        (ada, bob, eve) = (try UserID("ada"), try UserID("bob"), try UserID("eve"))
    }

    private func made(
        _ settings: ChannelSettings = ChannelSettings(visibility: .private),
        at place: AccountsPlace = .single
    ) async throws -> AccountsUnderTest {
        let test = try await AccountsUnderTest(place)
        try await test.accounts.setChannel(
            room, settings, by: Principal(user: ada), at: now, head: 0)
        return test
    }

    @Test(
        "an owner who was removed a moment before can no longer change members or settings",
        arguments: AccountsPlace.all)
    func removedOwner(place: AccountsPlace) async throws {
        let test = try await made(at: place)
        let accounts = test.accounts
        try await accounts.setMember(bob, role: .owner, joined: 0, in: room, at: now)
        #expect(try await accounts.removeMember(ada, from: room))
        await expectError(.refused) {
            try await accounts.perform(
                SetMember(eve, .member, in: room, by: Principal(user: ada)), at: now)
        }
        await expectError(.refused) {
            try await accounts.perform(
                RemoveMember(bob, from: room, by: Principal(user: ada)), at: now)
        }
        await expectError(.refused) {
            try await accounts.perform(
                SetChannel(room, ChannelSettings(title: "mine"), by: Principal(user: ada)), at: now)
        }
        #expect(try await accounts.members(of: room, after: nil, limit: 9).map(\.user) == [bob])
        await test.remove()
    }

    @Test(
        "changes of different settings at once are all there; a dropped one is the default again",
        arguments: AccountsPlace.all)
    func changedAtOnce(place: AccountsPlace) async throws {
        let test = try await made(
            ChannelSettings(visibility: .private, retention: RetentionPolicy(count: 7)), at: place)
        let (accounts, owner) = (test.accounts, Principal(user: ada))
        var (title, age, drop) = (
            ChangeChannel.Changes(), ChangeChannel.Changes(), ChangeChannel.Changes()
        )
        title.title = .set("Room")
        age.age = .set(.seconds(60))
        let (entitle, limit) = (
            ChangeChannel(room, title, by: owner), ChangeChannel(room, age, by: owner)
        )
        async let titled = accounts.perform(entitle, at: now)
        async let limited = accounts.perform(limit, at: now)
        let areNew = (try await titled.isNew, try await limited.isNew)
        #expect(!areNew.0 && !areNew.1)
        #expect(
            try await accounts.channel(room)?.settings
                == ChannelSettings(
                    visibility: .private, retention: RetentionPolicy(count: 7, age: .seconds(60)),
                    title: "Room"))
        (drop.title, drop.count) = (.dropped, .dropped)
        let dropped = try await accounts.perform(ChangeChannel(room, drop, by: owner), at: now)
        #expect(
            dropped.record.settings
                == ChannelSettings(
                    visibility: .private, retention: RetentionPolicy(age: .seconds(60))))
        let foreign = ChangeChannel(room, title, by: Principal(user: bob))
        await expectError(.refused) { try await accounts.perform(foreign, at: now) }
        let other = try ChannelName("other")
        let new = try await accounts.perform(
            ChangeChannel(other, title, by: owner), at: now, heads: { _ in 0 })
        #expect(new.isNew && new.record.settings == ChannelSettings(title: "Room"))
        #expect(try await accounts.member(ada, in: other)?.role == .owner)
        await test.remove()
    }

    @Test("a member joins at the head of the moment in which the membership is written")
    func joined() async throws {
        let test = try await made()
        let head = Mutex<Int64>(7)
        let outcome = try await test.accounts.perform(
            SetMember(bob, .member, in: room, by: Principal(user: ada)), at: now,
            heads: { _ in
                head.withLock { head in
                    head += 1
                    return head
                }
            })
        #expect(outcome.member.joined == 8 && outcome.isNew)
        #expect(head.withLock { $0 } == 8, "asked once")
        let again = try await test.accounts.perform(
            SetMember(bob, .owner, in: room, by: Principal(user: ada)), at: now,
            heads: { _ in throw RepriseError(.closed, "nobody asks") })
        #expect(again.member.joined == 8 && again.member.role == .owner && !again.isNew)
        await test.remove()
    }

    @Test(
        "a reader of a channel may join it as a member, not as an owner, and may leave it, and cannot change another user's membership",
        arguments: AccountsPlace.all)
    func oneself(place: AccountsPlace) async throws {
        let test = try await made(ChannelSettings(), at: place)
        let accounts = test.accounts
        let who = Principal(user: eve)
        await expectError(.refused) {
            try await accounts.perform(SetMember(eve, .owner, in: room, by: who), at: now)
        }
        await expectError(.refused) {
            try await accounts.perform(SetMember(bob, .member, in: room, by: who), at: now)
        }
        try await accounts.perform(SetMember(eve, .member, in: room, by: who), at: now)
        await expectError(.refused) {
            try await accounts.perform(SetMember(eve, .owner, in: room, by: who), at: now)
        }
        await expectError(.refused) {
            try await accounts.perform(RemoveMember(ada, from: room, by: who), at: now)
        }
        #expect(try await accounts.perform(RemoveMember(eve, from: room, by: who), at: now))
        #expect(try await !accounts.perform(RemoveMember(eve, from: room, by: who), at: now))
        #expect(try await accounts.memberCount(of: room) == 1)
        await test.remove()
    }

    @Test("a receipt goes to the head of the moment in which it is written, and no further")
    func clamped() async throws {
        let test = try await made()
        let accounts = test.accounts
        try await accounts.sawDevice(try EntryID("phone"), of: ada)
        let far = MovePosition(
            channel: room, user: ada, device: try EntryID("phone"), read: .max, delivered: 9)
        for (head, read, delivered) in [(7, 7, 7), (8, 8, 8), (12, 12, 9)]
            as [(Int64, Int64, Int64)]
        {
            let moved = try await accounts.perform(far, at: now, heads: { _ in head })
            #expect(moved.position == .init(user: ada, read: read, delivered: delivered))
            #expect(
                try await accounts.devices.delivered(to: try EntryID("phone"), of: ada, in: room)
                    == delivered)
        }
        let back = MovePosition(channel: room, user: ada, device: nil, read: 3)
        let moved = try await accounts.perform(
            back, at: now, heads: { _ in throw RepriseError(.closed, "nobody asks") })
        #expect(moved.position.read == 12)
        await test.remove()
    }

    /// Writes, and is refused then.
    private struct Halfway: AccountCommand {
        let room: ChannelName
        let failure: RepriseError?

        func apply(in view: AccountsView) throws {
            try view.db.execute(
                sql: "UPDATE channels SET title = 'half' WHERE name = ?", arguments: [room.text])
            if let failure { throw failure }
        }
    }

    @Test("a refused command leaves nothing of what it wrote, and those beside it are stored")
    func refused() async throws {
        let test = try await made()
        let accounts = test.accounts
        let full = RepriseError(.full, "There is no room.")
        let first = Task { try await accounts.perform(Halfway(room: room, failure: full), at: now) }
        let second = Task {
            try await accounts.perform(
                SetMember(bob, .member, in: room, by: Principal(user: ada)), at: now)
        }
        await expectError(.full) { try await first.value }
        #expect(try await second.value.isNew)
        #expect(try await accounts.channel(room)?.settings.title == nil)
        try await accounts.perform(Halfway(room: room, failure: nil), at: now)
        #expect(try await accounts.channel(room)?.settings.title == "half", "it does write")
        await test.remove()
    }

    @Test(
        "the members of an inbox are owners: nobody else joins, a channel with others is none",
        arguments: AccountsPlace.all)
    func inbox(place: AccountsPlace) async throws {
        let test = try await made(at: place)
        let (accounts, owner) = (test.accounts, Principal(user: ada))
        let inbox = ChannelSettings(visibility: .inbox)
        try await accounts.setMember(bob, role: .member, joined: 0, in: room, at: now)
        await expectError(.refused) {
            try await accounts.perform(SetChannel(room, inbox, by: owner), at: now)
        }
        try await accounts.setMember(bob, role: .owner, joined: 0, in: room, at: now)
        try await accounts.perform(SetChannel(room, inbox, by: owner), at: now)
        for (user, who) in [(eve, owner), (eve, Principal(user: eve)), (bob, owner)] {
            await expectError(.refused) {
                try await accounts.perform(SetMember(user, .member, in: room, by: who), at: now)
            }
        }
        try await accounts.perform(SetMember(eve, .owner, in: room, by: owner), at: now)
        let members = try await accounts.members(of: room, after: nil, limit: 9)
        #expect(members.map(\.role) == [.owner, .owner, .owner])
        await test.remove()
    }
}
