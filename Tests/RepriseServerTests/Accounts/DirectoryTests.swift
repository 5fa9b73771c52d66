import Foundation
import GRDB
import Logging
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Synchronization
import Testing

/// What the server tells a user of his conversations; docs/channels.md.
@Suite("Directories", .timeLimit(.minutes(1)))
struct DirectoryTests {
    /// Accounts and their log, of which the test publishes the directories step by step.
    private final class Scene {
        /// The channels of the stored messages, in order.
        final class Stored: Sendable {
            let channels = Mutex<[ChannelName]>([])
        }

        let folder: TemporaryFolder
        let stored = Stored()
        var log: SQLiteMessageLog
        var accounts: Accounts
        private var committer: Committer
        private var committing: Task<Void, Never>
        private(set) var publisher: DirectoryPublisher

        init(
            in folder: TemporaryFolder? = nil, clock: any Timekeeper = SystemTimekeeper()
        ) throws {
            self.folder = try folder ?? TemporaryFolder()
            log = try SQLiteMessageLog.open(at: self.folder.path)
            (accounts, committer, committing, publisher) = try Self.open(
                self.folder, log, clock, stored)
        }

        private static func open(
            _ folder: TemporaryFolder, _ log: SQLiteMessageLog, _ clock: any Timekeeper,
            _ stored: Stored
        ) throws -> (Accounts, Committer, Task<Void, Never>, DirectoryPublisher) {
            let accounts = try Accounts.open(
                at: folder.path, implicitChannels: false, heads: { try log.head(of: $0) })
            let committer = Committer(log: log) { events in
                stored.channels.withLock { $0 += events.map(\.channel) }
            }
            let publisher = DirectoryPublisher(
                accounts: accounts, log: log, committer: committer, clock: clock,
                logger: Logger(label: "test"))
            return (accounts, committer, Task { await committer.run() }, publisher)
        }

        func close() async {
            committer.shutdown()
            await committing.value
            await accounts.close()
            await log.close()
        }

        func publish() async throws { while try await publisher.publishNext() {} }

        func make(_ name: String, title: String? = nil, by user: String) async throws {
            try await accounts.perform(
                SetChannel(
                    ChannelName(name), ChannelSettings(visibility: .private, title: title),
                    by: principal(user)))
        }

        func add(_ user: String, to name: String, by owner: String) async throws {
            try await accounts.perform(
                SetMember(UserID(user), .member, in: ChannelName(name), by: principal(owner)))
        }

        /// What the directory of a user says, behind a sequence.
        func told(_ user: String, after: Int64 = 0) async throws -> [DirectoryEntry] {
            let page = try await log.history(
                of: .directory(of: try UserID(user)), after: after, limit: 10_000)
            return try page.events.map {
                try JSONDecoder().decode(DirectoryEntry.self, from: Data($0.body))
            }
        }

        func edit(_ sql: String) throws {
            let file = try DatabaseQueue(path: folder.path + "/accounts.sqlite")
            try file.write { try $0.execute(sql: sql) }
            try file.close()
        }
    }

    @Test(
        "A member's directory tells him of channels that he joins, their changes and their end; the other members are told of his joining"
    )
    func told() async throws {
        let scene = try Scene()
        try await scene.make("team", title: "Team", by: "ada")
        try await scene.publish()
        try await scene.add("bob", to: "team", by: "ada")
        try await scene.publish()
        let mute = Mute(.channel(try ChannelName("team")), until: WallTime(milliseconds: 7))
        try await scene.accounts.perform(SetMute(mute, of: UserID("bob")))
        try await scene.publish()
        try await scene.make("team", title: "Crew", by: "ada")
        try await scene.accounts.perform(RemoveMute(mute.subject, of: UserID("bob")))
        try await scene.publish()
        try await scene.accounts.perform(
            SetMember(UserID("bob"), .owner, in: ChannelName("team"), by: principal("ada")))
        try await scene.publish()
        try await scene.accounts.perform(
            RemoveMember(UserID("bob"), from: ChannelName("team"), by: principal("ada")))
        try await scene.publish()

        let bob = try await scene.told("bob")
        #expect(bob.map(\.conversation) == Array(repeating: "team", count: 5))
        #expect(bob.map(\.title) == ["Team", "Team", "Crew", "Crew", nil])
        #expect(bob.map(\.role) == ["member", "member", "member", "owner", nil])
        #expect(bob.map(\.muted) == [nil, true, nil, nil, nil])
        #expect(bob.map(\.mutedUntil) == [nil, 7, nil, nil, nil])
        #expect(bob.map(\.left) == [nil, nil, nil, nil, true])
        #expect(bob[0].visibility == "private" && bob[0].others == ["ada"])
        let ada = try await scene.told("ada")
        #expect(ada.map(\.others) == [[], ["bob"], ["bob"], []])
        #expect(ada.map(\.members) == [1, 2, 2, 1])
        await scene.close()
    }

    @Test(
        "Changes in quick succession become one entry; names are left out in a channel with many members",
        .limit("accounts.named"))
    func joined() async throws {
        let scene = try Scene()
        try await scene.make("team", title: "A", by: "ada")
        for title in ["B", "C"] { try await scene.make("team", title: title, by: "ada") }
        for number in 0..<(DirectoryLimits.namedMembers - 1) {
            try await scene.add("u\(number)", to: "team", by: "ada")
        }
        try await scene.publish()
        #expect(try await scene.told("ada").map(\.title) == ["C"])
        #expect(
            try await scene.told("ada").first?.others?.count == DirectoryLimits.namedMembers - 1)
        try await scene.add("late", to: "team", by: "ada")
        try await scene.publish()
        #expect(try await scene.told("ada").count == 1)
        let late = try #require(try await scene.told("late").first)
        #expect(late.others == nil && late.members == Int64(DirectoryLimits.namedMembers + 1))
        await scene.close()
    }

    @Test(
        "In a channel with many members a new title reaches all of them, once a minute",
        .limit("accounts.telling"))
    func many() async throws {
        let clock = ManualClock()
        let scene = try Scene(clock: clock)
        try await scene.make("team", title: "A", by: "ada")
        for number in 0..<300 { try await scene.add("u\(number)", to: "team", by: "ada") }
        try await scene.publish()
        var tellings = DirectoryPublisher.Tellings()
        #expect(try await scene.publisher.tellMany(&tellings) == nil)
        for title in ["B", "C"] { try await scene.make("team", title: title, by: "ada") }
        #expect(try await scene.publisher.publishNext() == false)
        #expect(try await scene.publisher.tellMany(&tellings) == nil)
        for user in ["ada", "u0", "u299"] {
            #expect(try await scene.told(user).last?.title == "C")
            #expect(try await scene.told(user).count { $0.title == "B" } == 0)
        }
        try await scene.make("team", title: "D", by: "ada")
        let due = try #require(try await scene.publisher.tellMany(&tellings))
        #expect(try await scene.told("u299").last?.title == "C")
        clock.advance(by: due - clock.uptime())
        #expect(try await scene.publisher.tellMany(&tellings) == nil)
        #expect(try await scene.told("u299").last?.title == "D")
        await scene.close()
    }

    @Test("A change waits for one page of what many are told, not for all pages")
    func between() async throws {
        let scene = try Scene()
        try await scene.make("team", title: "A", by: "ada")
        for number in 0..<300 { try await scene.add("u\(number)", to: "team", by: "ada") }
        try await scene.publish()
        try await scene.make("team", title: "B", by: "ada")
        try await scene.make("other", by: "mallory")
        scene.stored.channels.withLock { $0 = [] }
        var tellings = DirectoryPublisher.Tellings()
        _ = try await scene.publisher.tellMany(&tellings)
        let stored = scene.stored.channels.withLock { $0 }
        let mallory = ChannelName.directory(of: try UserID("mallory"))
        #expect(stored.firstIndex(of: mallory) == DirectoryLimits.entriesPerCommit)
        #expect(stored.count == 302)
        await scene.close()
    }

    @Test(
        "A profile is told to those with whom its user shares a channel, and to nobody else",
        .limit("accounts.profile"))
    func profiles() async throws {
        let clock = ManualClock()
        let scene = try Scene(clock: clock)
        try await scene.make("team", by: "ada")
        for user in ["bob", "eve"] { try await scene.add(user, to: "team", by: "ada") }
        try await scene.make("other", by: "mallory")
        try await scene.publish()
        var tellings = DirectoryPublisher.Tellings()
        func set(_ name: String?, _ picture: String? = nil) async throws -> Bool {
            try await scene.accounts.perform(
                SetProfile(Profile(name: name, picture: picture), of: UserID("bob")))
        }
        #expect(try await set("Bob", "https://example.org/b.png"))
        #expect(try await !set("Bob", "https://example.org/b.png"))
        _ = try await scene.publisher.tellMany(&tellings)
        let bob = Profile(name: "Bob", picture: "https://example.org/b.png")
        for user in ["ada", "eve"] {
            #expect(try await scene.told(user).last?.profiles == ["bob": bob])
        }
        #expect(try await scene.told("bob").last?.profiles == nil)
        #expect(try await scene.told("mallory").count == 1)
        // Who comes later gets it with the conversation.
        try await scene.add("late", to: "team", by: "ada")
        try await scene.publish()
        #expect(try await scene.told("late").last?.profiles == ["bob": bob])
        #expect(try await set(nil))
        let due = try #require(try await scene.publisher.tellMany(&tellings))
        clock.advance(by: due - clock.uptime())
        _ = try await scene.publisher.tellMany(&tellings)
        #expect(try await scene.told("ada").last?.profiles == nil)
        for (name, picture) in [
            ("", nil), ("a\nb", nil), ("a\u{202e}b", nil),
            (String(repeating: "x", count: 129), nil),
            ("x", "http://example.org"), ("x", "https://a b"),
            ("x", "https://" + String(repeating: "x", count: 505)),
        ] as [(String, String?)] {
            await expectError(.malformed) { try await set(name, picture) }
        }
        #expect(try await set("א\u{200f}\u{200e}\u{61c}"))
        #expect(
            try await set(
                String(repeating: "x", count: 128), "https://" + String(repeating: "x", count: 504))
        )
        await scene.close()
    }

    @Test("A member archives a channel for himself, until he leaves it")
    func archived() async throws {
        let scene = try Scene()
        let team = try ChannelName("team")
        try await scene.make("team", by: "ada")
        try await scene.add("bob", to: "team", by: "ada")
        let (bob, clock) = (try UserID("bob"), WallTime(milliseconds: 1_800_000_000_000))
        for isArchived in [true, false, true] {
            try await scene.accounts.perform(SetArchived(team, isArchived, of: bob), at: clock)
            try await scene.publish()
        }
        #expect(
            try await scene.told("bob").map(\.archived)
                == [clock.milliseconds, nil, clock.milliseconds])
        #expect(try await scene.told("ada").map(\.archived) == [nil], "nobody else is told")
        try await scene.accounts.perform(
            RemoveMember(bob, from: team, by: principal("bob")))
        await expectError(.refused) { try await scene.accounts.perform(SetArchived(team, of: bob)) }
        try await scene.add("bob", to: "team", by: "ada")
        try await scene.publish()
        #expect(try await scene.told("bob").last?.archived == nil)
        await scene.close()
    }

    @Test(
        "A directory can be read by its user alone, and nobody can write to it, own it or create it"
    )
    func rights() async throws {
        let scene = try Scene()
        let directory = ChannelName.directory(of: try UserID("ada"))
        let (ada, bob) = (try principal("ada"), try principal("bob"))
        let admin = Principal(user: try UserID("root"), isAdmin: true)
        for (who, reads) in [(ada, true), (bob, false), (admin, true)] {
            let grant = try await scene.accounts.grant(who, in: directory)
            #expect(grant == Grant(mayRead: reads, mayPublish: false))
            await expectError(.refused) {
                try await scene.accounts.perform(
                    SetChannel(directory, ChannelSettings(visibility: .public), by: who))
            }
            await expectError(.refused) {
                try await scene.accounts.perform(
                    SetMember(UserID("eve"), .member, in: directory, by: who))
            }
        }
        #expect(directory != .directory(of: try UserID("adb")))
        #expect(ChannelName.directory(of: try UserID("a/ü?".filter(\.isASCII))).isDirectory)
        await scene.close()
    }

    @Test(
        "After a kill between the writes to log and accounts an entry is stored once, and its id cannot be guessed"
    )
    func killed() async throws {
        let scene = try Scene()
        try await scene.make("team", by: "ada")
        let change = try #require(try await scene.accounts.directories.changes(limit: 9).first)
        #expect(try await scene.publisher.publishNext())
        await scene.close()
        try scene.edit(
            "INSERT INTO directory_changes (n, user, channel) VALUES (\(change.number), 'ada', 'team')"
        )
        let next = try Scene(in: scene.folder)
        #expect(try await next.accounts.directories.changes(limit: 9) == [change])
        try await next.publish()
        #expect(try await next.told("ada").count == 1)
        let id = try await next.accounts.directories.id(
            DirectoryEntry(conversation: ChannelName("team")), change)
        let event = try await next.log.history(
            of: .directory(of: UserID("ada")), after: 0, limit: 1
        ).events[0]
        #expect(event.id == id)
        await next.close()
        // Another server's id of the same change.
        let other = try Scene()
        let otherID = try await other.accounts.directories.id(
            DirectoryEntry(conversation: ChannelName("team")), change)
        #expect(otherID != id)
        await other.close()
    }

    @Test(
        "The directories of accounts of an earlier version, and of restored ones, are written in full, once"
    )
    func former() async throws {
        let scene = try Scene()
        for name in ["a", "b"] { try await scene.make(name, by: "ada") }
        await scene.close()
        try scene.edit("INSERT INTO directories (user) VALUES ('left')")
        try scene.edit("DELETE FROM directory_changes")
        let next = try Scene(in: scene.folder)
        for _ in 0..<2 {
            try await next.accounts.directories.begin()
            try await next.publish()
            let told = try await next.told("ada")
            #expect(told.map(\.list) == [.begin, nil, nil, .end])
            #expect(told.map(\.conversation) == [nil, "a", "b", nil])
        }
        await next.close()
        let (copy, restored) = (try TemporaryFolder(), try TemporaryFolder())
        let data = scene.folder.path
        try await onThread {
            try Backup.make(of: data, to: copy.path)
            try Backup.restore(from: copy.path, to: restored.path)
        }
        let anew = try Scene(in: restored)
        try await anew.accounts.directories.begin()
        try await anew.publish()
        #expect(
            try await anew.told("left").suffix(2).map(\.list) == [.begin, .end],
            "whose last membership a restore has taken hears of it")
        let page = try await anew.log.history(
            of: .directory(of: UserID("ada")), after: 0, limit: 100)
        #expect(page.state.floor == 4 && page.events.count == 4)
        #expect(page.gone.map(\.reason) == [.erased])
        await anew.close()
    }

    @Test(
        "A directory with mostly replaced entries is written anew, and its former entries are gone, not lost",
        .limit("accounts.directory"))
    func compacted() async throws {
        let scene = try Scene()
        try await scene.make("team", by: "ada")
        try await scene.make("other", by: "ada")
        try await scene.publish()
        var number = 0
        while try await scene.log.state(of: .directory(of: UserID("ada"))).floor == 0 {
            number += 1
            try #require(number <= 1_100)
            try await scene.make("team", title: "\(number)", by: "ada")
            try await scene.publish()
        }
        #expect(number == Int(DirectoryLimits.superseded) + 3)
        let told = try await scene.told("ada")
        #expect(told.map(\.list) == [.begin, nil, nil, .end])
        #expect(told.map(\.conversation) == [nil, "other", "team", nil])
        #expect(told[2].title == "\(number)")
        let page = try await scene.log.history(
            of: .directory(of: UserID("ada")), after: 0, limit: 1)
        #expect(page.gone.map(\.reason) == [.erased])
        await scene.close()
    }

    @Test("Retention does not shorten a directory")
    func retention() async throws {
        let scene = try Scene()
        for number in 0..<5 {
            try await scene.make("team", title: "\(number)", by: "ada")
            try await scene.publish()
        }
        _ = try await scene.log.append([
            NewMessage(channel: ChannelName("team"), id: .random(), body: [0x31]),
            NewMessage(channel: ChannelName("team"), id: .random(), body: [0x31]),
        ])
        try await scene.log.trim(RetentionPolicy(count: 1), now: SystemTimekeeper().wall())
        #expect(try await scene.log.state(of: ChannelName("team")).floor == 1)
        #expect(try await scene.told("ada").count == 5)
        await scene.close()
    }
}
