import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseWire
import Testing

@Suite("Positions and devices")
struct PositionTests {
    let room: ChannelName
    let ada: UserID
    let bob: UserID

    init() throws {
        room = try ChannelName("room")
        ada = try UserID("ada")
        bob = try UserID("bob")
    }

    private func move(
        _ user: UserID, device: EntryID? = nil, read: Int64? = nil, delivered: Int64? = nil
    ) -> MovePosition {
        MovePosition(channel: room, user: user, device: device, read: read, delivered: delivered)
    }

    @Test(
        "only move forward, each by itself; a user's delivered is the furthest of the devices'",
        arguments: AccountsPlace.all)
    func monotonic(place: AccountsPlace) async throws {
        let test = try await AccountsUnderTest(place, implicitChannels: true)
        let accounts = test.accounts
        try await test.reach(12, in: room)
        let (phone, tablet) = (EntryID.random(), EntryID.random())
        for device in [phone, tablet] { try await accounts.sawDevice(device, of: ada) }
        for (device, read, delivered, expected) in [
            (phone, 3, 5, (3, 5)), (tablet, 2, 4, (3, 5)), (tablet, nil, 9, (3, 9)),
            (phone, 4, nil, (4, 9)), (phone, 1, 1, (4, 9)), (phone, nil, nil, (4, 9)),
        ] as [(EntryID, Int64?, Int64?, (Int64, Int64))] {
            let position = try await accounts.move(
                move(ada, device: device, read: read, delivered: delivered))
            #expect(
                position
                    == ServerFrame.Position(user: ada, read: expected.0, delivered: expected.1))
        }
        #expect(try await accounts.devices.delivered(to: phone, of: ada, in: room) == 5)
        #expect(try await accounts.devices.delivered(to: tablet, of: ada, in: room) == 9)
        let unknown = EntryID.random()
        _ = try await accounts.move(move(ada, device: unknown, delivered: 12))
        #expect(try await accounts.devices.delivered(to: unknown, of: ada, in: room) == 0)
        await test.remove()
    }

    @Test(
        "do not move where the user may not read, as when he was removed; an admin's do",
        arguments: AccountsPlace.all)
    func forbidden(place: AccountsPlace) async throws {
        let test = try await AccountsUnderTest(place)
        let accounts = test.accounts
        try await accounts.perform(
            SetChannel(room, ChannelSettings(visibility: .private), by: .open))
        try await test.reach(5, in: room)
        try await accounts.perform(SetMember(ada, .member, in: room, by: .open))
        #expect(try await accounts.move(move(ada, read: 3)).read == 3)
        try await accounts.perform(RemoveMember(ada, from: room, by: .open))
        await expectError(.refused) { _ = try await accounts.move(move(ada, read: 4)) }
        let admin = MovePosition(channel: room, user: ada, isAdmin: true, device: nil, read: 5)
        #expect(try await accounts.move(admin).read == 5)
        await test.remove()
    }

    @Test(
        "list the asking user first, even at 0, the others by name, and in a private channel members only",
        arguments: AccountsPlace.all)
    func listed(place: AccountsPlace) async throws {
        let test = try await AccountsUnderTest(place, implicitChannels: true)
        let accounts = test.accounts
        try await test.reach(3, in: room)
        let carl = try UserID("carl")
        for (user, read) in [(carl, 3), (bob, 2)] as [(UserID, Int64)] {
            _ = try await accounts.move(move(user, read: read))
        }
        let users = { (first: UserID?, limit: Int) in
            try await accounts.positions(of: room, first: first, limit: limit).map(\.user)
        }
        #expect(try await users(ada, 9) == [ada, bob, carl])
        #expect(try await users(carl, 9) == [carl, bob])
        #expect(try await users(nil, 1) == [bob])
        #expect(try await users(ada, 2) == [ada, bob])
        try await accounts.setChannel(
            room, ChannelSettings(visibility: .private), by: Principal(user: ada, isAdmin: true),
            at: now, head: 3)
        try await accounts.setMember(carl, role: .member, joined: 0, in: room, at: now)
        #expect(try await users(ada, 9) == [ada, carl])
        await test.remove()
    }

    @Test(
        "that arrive together are committed together, and all of them are stored",
        .limit("accounts.transaction"), arguments: AccountsPlace.all)
    func grouped(place: AccountsPlace) async throws {
        let test = try await AccountsUnderTest(place, implicitChannels: true)
        let accounts = test.accounts
        try await test.reach(2_000, in: room)
        let clock = ContinuousClock()
        let start = clock.now
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<2_000 {
                group.addTask {
                    guard let user = try? UserID("user-\(number % 100)") else { return }
                    let position = try? await accounts.move(move(user, read: Int64(number)))
                    #expect((position?.read ?? 0) >= Int64(number))
                }
            }
        }
        print("2,000 moves at once: \(clock.now - start)")
        try await test.reopen()
        let positions = try await test.accounts.positions(of: room, first: nil, limit: 1_000)
        #expect(positions.count == 100)
        #expect(positions.allSatisfy { $0.read >= 1_900 })
        await test.remove()
    }

    @Test("of a failed commit get an error, and memory does not run ahead of the disk")
    func failedCommit() async throws {
        let test = try await AccountsUnderTest(implicitChannels: true)
        _ = try await test.accounts.move(move(ada, read: 1))
        // Another process holds the file for longer than is waited for.
        var settings = Configuration()
        settings.allowsUnsafeTransactions = true
        settings.busyMode = .timeout(5)
        let other = try DatabaseQueue(
            path: test.folder.path + "/accounts.sqlite", configuration: settings)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        await expectError(.busy) {
            _ = try await test.accounts.move(move(ada, read: 5))
        }
        let position = ServerFrame.Position(user: ada, read: 1, delivered: 0)
        #expect(
            try await test.accounts.positions(of: room, first: ada, limit: 1) == [position])
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        try other.close()
        #expect(try await test.accounts.move(move(ada, read: 4)).read == 4)
        await test.remove()
    }

    @Test(
        "a user has 100 devices at most: the one not seen for longest makes room",
        .limit("accounts.devices"), arguments: AccountsPlace.all)
    func deviceLimit(place: AccountsPlace) async throws {
        let test = try await AccountsUnderTest(place, implicitChannels: true)
        let accounts = test.accounts
        try await test.reach(3, in: room)
        let ids = (0...AccountLimits.devices).map { _ in EntryID.random() }
        for (number, id) in ids.enumerated() {
            let time = WallTime(milliseconds: now.milliseconds + Int64(number))
            test.set(time)
            try await accounts.perform(SawDevice(id, of: ada), at: time)
            _ = try await accounts.move(move(ada, device: id, delivered: 3))
        }
        #expect(try await accounts.devices.all(of: ada).map(\.id) == ids.dropFirst().reversed())
        #expect(try await accounts.devices.delivered(to: ids[0], of: ada, in: room) == 0)
        #expect(try await accounts.devices.delivered(to: ids[1], of: ada, in: room) == 3)
        #expect(try await accounts.perform(RemoveDevice(ids[1], of: ada)))
        #expect(try await accounts.perform(RemoveDevice(ids[1], of: ada)) == false)
        await test.remove()
    }

    @Test(
        "a push token belongs to the device that named it last, and is never shown",
        arguments: AccountsPlace.all)
    func pushToken(place: AccountsPlace) async throws {
        let test = try await AccountsUnderTest(place, implicitChannels: true)
        let accounts = test.accounts
        let token = try PushToken("very-secret")
        let phone = EntryID.random()
        for user in [ada, bob] {
            try await accounts.setDevice(
                RegisteredDevice(id: phone, platform: "ios", pushToken: token, lastSeen: now),
                of: user)
        }
        #expect(try await accounts.devices.all(of: ada).map(\.pushToken) == [nil])
        let device = try #require(try await accounts.devices.all(of: bob).first)
        #expect(device.pushToken == token)
        try await accounts.sawDevice(phone, of: bob)
        #expect(try await accounts.devices.all(of: bob).first?.pushToken == token)
        var dumped = ""
        dump(device, to: &dumped)
        for text in ["\(device)", String(reflecting: device), dumped] {
            #expect(!text.contains("very-secret"))
        }
        expectError(.tooLarge) {
            try PushToken(String(repeating: "x", count: AccountLimits.pushTokenBytes + 1))
        }
        await test.remove()
    }
}
