import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

@Suite("Bounds of the accounts", .timeLimit(.minutes(1)))
struct AccountBoundTests {
    @Test(
        "a channel of 100,000 members takes no more, and existing members can still be changed",
        .limit("accounts.members"))
    func members() async throws {
        let test = try await AccountsUnderTest(implicitChannels: true)
        let room = try ChannelName("room")
        let (ada, bob, eve) = (try UserID("ada"), try UserID("bob"), try UserID("eve"))
        let accounts = test.accounts
        try await accounts.setMember(ada, role: .member, joined: 0, in: room, at: now)
        let other = try DatabaseQueue(path: test.folder.path + "/accounts.sqlite")
        try await other.write { db in
            try db.execute(sql: "UPDATE channels SET members = 99999 WHERE name = 'room'")
        }
        try other.close()
        try await accounts.setMember(bob, role: .member, joined: 0, in: room, at: now)
        await expectError(.full) {
            try await accounts.setMember(eve, role: .member, joined: 0, in: room, at: now)
        }
        #expect(try await accounts.member(eve, in: room) == nil)
        try await accounts.setMember(ada, role: .owner, joined: 0, in: room, at: now)
        try await accounts.removeMember(ada, from: room)
        try await accounts.setMember(eve, role: .member, joined: 0, in: room, at: now)
        #expect(try await accounts.memberCount(of: room) == 100_000)
        await test.remove()
    }

    @Test(
        "a user makes 10,000 channels, and the next one is refused; an admin makes more, and others do",
        .limit("accounts.channelsMade")
    )
    func channelsMade() async throws {
        let test = try await AccountsUnderTest()
        let other = try DatabaseQueue(path: test.folder.path + "/accounts.sqlite")
        try await other.write { db in
            for number in 0..<9_999 {
                try db.execute(
                    sql: """
                        INSERT INTO channels (name, visibility, history, maker, made)
                        VALUES (?, 'private', 'all', 'ada', 1)
                        """, arguments: ["c\(number)"])
            }
        }
        try other.close()
        func make(_ name: String, by who: Principal) async throws {
            try await test.accounts.setChannel(
                ChannelName(name), ChannelSettings(), by: who, at: now, head: 0)
        }
        try await make("last", by: principal("ada"))
        await expectError(.full) {
            try await make("more", by: principal("ada"))
        }
        try await make("last", by: principal("ada"))
        try await make("more", by: principal("bob"))
        try await make("most", by: Principal(user: UserID("ada"), isAdmin: true))
        await test.remove()
    }

    @Test(
        "the channels that one user made have at most a million members in all; a user who joins by himself, or whom an admin adds, is not refused",
        .limit("accounts.channelsMade")
    )
    func membersMade() async throws {
        let test = try await AccountsUnderTest()
        let (accounts, room) = (test.accounts, try ChannelName("room"))
        for name in ["room", "hall"] {
            try await accounts.setChannel(
                ChannelName(name), ChannelSettings(), by: principal("ada"), at: now, head: 0)
        }
        let other = try DatabaseQueue(path: test.folder.path + "/accounts.sqlite")
        try await other.write { db in
            try db.execute(sql: "UPDATE channels SET members = 999998 WHERE name = 'hall'")
        }
        try other.close()
        func add(_ name: String, by who: Principal) async throws {
            try await accounts.setMember(
                UserID(name), role: .member, joined: 0, in: room, by: who, at: now)
        }
        try await add("bob", by: principal("ada"))
        try await accounts.setMember(UserID("bob"), role: .owner, joined: 0, in: room, at: now)
        for who in ["ada", "bob"] {
            await expectError(.full) {
                try await add("eve", by: principal(who))
            }
        }
        try await add("bob", by: principal("ada"))
        try await add("eve", by: principal("eve"))
        try await add("dan", by: Principal(user: UserID("root"), isAdmin: true))
        #expect(try await accounts.memberCount(of: room) == 4)
        await test.remove()
    }

    @Test("a zero in a title or a platform is refused, and nothing behind it is cut off")
    func zeroes() async throws {
        let test = try await AccountsUnderTest()
        await expectError(.malformed) {
            try await test.accounts.setChannel(
                ChannelName("room"), ChannelSettings(title: "a\0b"), by: principal("ada"), at: now,
                head: 0)
        }
        await expectError(.malformed) {
            try await test.accounts.setDevice(
                RegisteredDevice(id: EntryID("d"), platform: "i\0os", lastSeen: now),
                of: UserID("ada"))
        }
        #expect(try await test.accounts.channel(ChannelName("room")) == nil)
        await test.remove()
    }

    @Test(
        "65,536 changes wait for the disk, one more is refused and stores nothing",
        .limit("accounts.queue"))
    func waiting() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.path, withIntermediateDirectories: true)
        let pool = try DatabasePool(path: folder.path + "/waiting.sqlite")
        try await pool.write { try $0.execute(sql: "CREATE TABLE change (number INTEGER)") }
        let writer = AccountsWriter(pool)
        let answers = Answers()
        let (isHeld, mayGoOn) = (Gate(), Gate())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await writer.write { _ in
                    isHeld.open()
                    mayGoOn.wait()
                }
            }
            await isHeld.opened()
            for number in 0..<65_537 {
                group.addTask {
                    do {
                        try await writer.write { db in
                            try db.execute(
                                sql: "INSERT INTO change VALUES (?)", arguments: [number])
                        }
                        answers.add(nil)
                    } catch let error as RepriseError {
                        answers.add(error)
                    }
                }
            }
            try await eventually("one is refused") { !answers.refused.isEmpty }
            mayGoOn.open()
            try await group.waitForAll()
        }
        #expect(answers.refused.map(\.code) == [.full])
        #expect(answers.stored == 65_536)
        let count = try await pool.read { try Int.fetchOne($0, sql: "SELECT COUNT(*) FROM change") }
        #expect(count == 65_536)
        await writer.close()
        try pool.close()
        folder.remove()
    }
}

/// What became of changes.
private final class Answers: Sendable {
    private let state = Mutex<(stored: Int, refused: [RepriseError])>((0, []))

    var stored: Int { state.withLock { $0.stored } }
    var refused: [RepriseError] { state.withLock { $0.refused } }

    func add(_ refusal: RepriseError?) {
        state.withLock { state in
            if let refusal { state.refused.append(refusal) } else { state.stored += 1 }
        }
    }
}

/// Holds a thread until somebody opens it.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let isOpen = Mutex(false)

    func open() {
        isOpen.withLock { $0 = true }
        semaphore.signal()
    }

    /// Blocks: for a queue's thread alone.
    func wait() { semaphore.wait() }

    func opened() async {
        while !isOpen.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) }
    }
}
