import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Accounts")
struct ServerAccountsTests {
    let room: ChannelName
    let ada: UserID
    let bob: UserID

    init() throws {
        room = try ChannelName("room")
        ada = try UserID("ada")
        bob = try UserID("bob")
    }

    @Test("commit with synchronous = FULL although GRDB's pool sets NORMAL")
    func durable() async throws {
        let test = try await AccountsUnderTest()
        #expect(try test.accounts.synchronous() == 2)
        await test.remove()
    }

    @Test("once closed, also after reads, are one file that holds everything")
    func oneFile() async throws {
        let test = try await AccountsUnderTest()
        let made = try await test.accounts.setChannel(
            room, ChannelSettings(), by: try principal("ada"), at: now, head: 0)
        #expect(try await test.accounts.channel(room) == made)
        #expect(test.folder.names.contains("accounts.sqlite-wal"))
        await test.close()
        #expect(test.folder.names == ["accounts.lock", "accounts.sqlite"])
        try await test.reopen()
        #expect(try await test.accounts.channel(room) == made)
        await test.remove()
    }

    @Test("keep all of it over a restart", arguments: AccountsPlace.all)
    func restart(place: AccountsPlace) async throws {
        let test = try await AccountsUnderTest(place)
        let settings = ChannelSettings(
            visibility: .private, history: .sinceJoin,
            retention: RetentionPolicy(count: 5, age: .seconds(60), bytes: 7), title: "Room")
        let made = try await test.accounts.setChannel(
            room, settings, by: try principal("ada"), at: now, head: 0)
        #expect(made == ChannelRecord(name: room, settings: settings, maker: ada, made: now))
        try await test.reach(3, in: room)
        let member = try await test.accounts.setMember(
            bob, role: .member, joined: 3, in: room, at: now)
        try await test.reach(5, in: room)
        let position = try await test.accounts.move(
            MovePosition(channel: room, user: bob, device: nil, read: 4, delivered: 5))
        let device = RegisteredDevice(
            id: .random(), platform: "ios", pushToken: try PushToken("secret"), lastSeen: now)
        try await test.accounts.setDevice(device, of: bob)
        try await test.reopen()
        #expect(try await test.accounts.channel(room) == made)
        #expect(try await test.accounts.member(bob, in: room) == member)
        #expect(try await test.accounts.memberCount(of: room) == 2)
        #expect(try await test.accounts.positions(of: room, first: bob, limit: 9) == [position])
        #expect(try await test.accounts.devices.all(of: bob) == [device])
        await test.remove()
    }

    @Test(
        "let only owners and admins change a channel, and only admins take over one with messages",
        arguments: AccountsPlace.all)
    func setChannel(place: AccountsPlace) async throws {
        let test = try await AccountsUnderTest(place)
        let accounts = test.accounts
        let admin = Principal(user: try UserID("root"), isAdmin: true)
        let old = try ChannelName("old")
        try await test.reach(1, in: old)
        await expectError(.refused) {
            try await accounts.setChannel(
                old, ChannelSettings(), by: try principal("ada"), at: now, head: 1)
        }
        await expectError(.refused) {
            try await accounts.setChannel(room, ChannelSettings(), by: .nobody, at: now, head: 0)
        }
        try await accounts.setChannel(
            room, ChannelSettings(), by: try principal("ada"), at: now, head: 0)
        try await accounts.setMember(bob, role: .member, joined: 0, in: room, at: now)
        await expectError(.refused) {
            try await accounts.setChannel(
                room, ChannelSettings(title: "Bob's"), by: try principal("bob"), at: now, head: 0)
        }
        let later = WallTime(milliseconds: now.milliseconds + 1)
        let changed = try await accounts.setChannel(
            room, ChannelSettings(title: "Everybody's"), by: admin, at: later, head: 9)
        #expect(changed.maker == ada && changed.made == now)
        #expect(try await accounts.member(try UserID("root"), in: room) == nil)
        #expect(try await accounts.channel(room)?.settings.title == "Everybody's")
        await expectError(.tooLarge) {
            let title = String(repeating: "x", count: AccountLimits.titleBytes + 1)
            try await accounts.setChannel(
                room, ChannelSettings(title: title), by: admin, at: now, head: 0)
        }
        for retention in [
            RetentionPolicy(count: 0), RetentionPolicy(age: .zero), RetentionPolicy(bytes: -1),
            RetentionPolicy(age: .seconds(Int64.max / 2)),
        ] {
            await expectError(.malformed) {
                try await accounts.setChannel(
                    room, ChannelSettings(retention: retention), by: admin, at: now, head: 0)
            }
        }
        await test.remove()
    }

    @Test(
        "keep when a member joined, count members, and page through them and the channels by name",
        .limit("http.listPages"), arguments: AccountsPlace.all)
    func members(place: AccountsPlace) async throws {
        let test = try await AccountsUnderTest(place)
        let accounts = test.accounts
        let others = try (0..<5).map { try ChannelName("c\($0)") }
        for channel in others + [room] {
            try await accounts.setChannel(
                channel, ChannelSettings(), by: try principal("ada"), at: now, head: 0)
        }
        try await test.reach(4, in: room)
        try await accounts.setMember(bob, role: .member, joined: 4, in: room, at: now)
        try await test.reach(9, in: room)
        let later = WallTime(milliseconds: now.milliseconds + 1)
        let again = try await accounts.setMember(
            bob, role: .owner, joined: 9, in: room, at: later)
        #expect(again == Member(user: bob, role: .owner, joined: 4, since: now))
        #expect(try await accounts.memberCount(of: room) == 2)
        #expect(try await accounts.members(of: room, after: nil, limit: 1).map(\.user) == [ada])
        #expect(try await accounts.members(of: room, after: ada, limit: 9).map(\.user) == [bob])
        #expect(try await accounts.channels(of: bob, after: nil, limit: 9).map(\.name) == [room])
        let first = try await accounts.channels(of: ada, after: nil, limit: 2).map(\.name)
        #expect(first == Array(others.prefix(2)))
        let rest = try await accounts.channels(of: nil, after: others[1], limit: 9).map(\.name)
        #expect(rest == Array(others.dropFirst(2)) + [room])
        #expect(try await accounts.removeMember(bob, from: room))
        #expect(try await accounts.removeMember(bob, from: room) == false)
        #expect(try await accounts.memberCount(of: room) == 1)
        let joined = try await accounts.setMember(
            bob, role: .member, joined: 9, in: room, at: later)
        #expect(joined.joined == 9, "who left and came back has joined anew")
        await expectError(.refused) {
            try await accounts.setMember(
                bob, role: .member, joined: 0, in: try ChannelName("unknown"), at: now)
        }
        await test.remove()
    }

    @Test(
        "give an implicit channel a record with its first member, where implicit channels are public",
        arguments: AccountsPlace.all)
    func implicit(place: AccountsPlace) async throws {
        let test = try await AccountsUnderTest(place, implicitChannels: true)
        try await test.reach(2, in: room)
        try await test.accounts.setMember(bob, role: .member, joined: 2, in: room, at: now)
        #expect(
            try await test.accounts.channel(room)
                == ChannelRecord(name: room, settings: ChannelSettings(), maker: nil, made: now))
        #expect(try await test.accounts.memberCount(of: room) == 1)
        await test.remove()
    }

    @Test(
        "report each durable change of access with its user, and nothing else",
        arguments: AccountsPlace.all)
    func accessChanged(place: AccountsPlace) async throws {
        typealias Change = AccountsUnderTest.Change
        let test = try await AccountsUnderTest(place)
        let accounts = test.accounts
        let owner = try principal("ada")
        try await accounts.setChannel(room, ChannelSettings(), by: owner, at: now, head: 0)
        #expect(test.changes() == [Change(channel: room, user: nil)])
        try await accounts.setChannel(
            room, ChannelSettings(title: "New"), by: owner, at: now, head: 0)
        #expect(test.changes() == [])
        try await accounts.setChannel(
            room, ChannelSettings(visibility: .private, title: "New"), by: owner, at: now, head: 0)
        #expect(test.changes() == [Change(channel: room, user: nil)])
        for role in [Member.Role.member, .member, .owner] {
            try await accounts.setMember(bob, role: role, joined: 0, in: room, at: now)
        }
        #expect(test.changes() == Array(repeating: Change(channel: room, user: bob), count: 2))
        try await accounts.removeMember(bob, from: room)
        try await accounts.removeMember(bob, from: room)
        #expect(test.changes() == [Change(channel: room, user: bob)])
        try await test.reach(1, in: room)
        _ = try await accounts.move(MovePosition(channel: room, user: ada, device: nil, read: 1))
        #expect(test.changes() == [])
        await test.remove()
    }

    @Test("refuse the file of another program and of a newer version with different errors")
    func foreign() async throws {
        let test = try await AccountsUnderTest()
        let accounts = test.accounts
        expectError(.journalOwned) {
            try Accounts.open(at: test.folder.path, implicitChannels: false)
        }
        await test.close()
        await expectError(.closed) {
            _ = try await accounts.move(
                MovePosition(channel: room, user: ada, device: nil, read: 1))
        }
        let path = test.folder.path + "/accounts.sqlite"
        for (sql, code) in [
            ("INSERT INTO grdb_migrations VALUES ('999 later')", RepriseError.Code.journalNewer),
            ("PRAGMA application_id = 7", .notAJournal),
        ] {
            let queue = try DatabaseQueue(path: path)
            try await queue.writeWithoutTransaction { try $0.execute(sql: sql) }
            try queue.close()
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            expectError(code) {
                try Accounts.open(at: test.folder.path, implicitChannels: false)
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes, "untouched")
        }
        await test.remove()
    }
}
