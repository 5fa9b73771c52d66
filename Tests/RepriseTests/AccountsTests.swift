import Foundation
import GRDB
import Reprise
import RepriseJournal
import RepriseTestSupport
import RepriseTesting
import Synchronization
import Testing

@Suite("Accounts", .timeLimit(.minutes(1)))
struct AccountsTests {
    private static let ada = UserID(unchecked: "ada")
    private static let bob = UserID(unchecked: "bob")

    private static let kinds = [
        EntryKind("draft", requires: [.ui]),
        EntryKind("hint", requires: [.ui], beforeSignIn: .expire),
    ]

    private static func open(
        _ folder: TemporaryFolder, dialer: MemoryDialer = MemoryDialer(),
        shared: URL? = nil, prepare: @escaping DeviceAccounts.Prepare = { _ in }
    ) async throws -> DeviceAccounts {
        var configuration = AccountClient.Configuration()
        configuration.kinds = kinds
        configuration.channels.reconnect = Backoff(base: .zero, longest: .zero)
        configuration.journal.sharedFolder = shared
        return try await DeviceAccounts.open(
            at: folder.appending("home"), server: "http://127.0.0.1:1", dialer: dialer,
            configuration: configuration,
            tokens: { request in
                try AccessToken("\(request.user.text == "ada" ? "YWRh" : "Ym9i").Yg.1")
            },
            prepare: prepare)
    }

    private static func record(_ kind: String, _ home: DeviceAccounts) async throws -> EntryID {
        let entry = NewEntry(kind: kind, payload: [])
        try await home.current.journal.record(entry)
        return entry.id
    }

    @Test(
        "entries recorded before sign-in move into the account, or end, as their kind says; ids and order stay"
    )
    func adoption() async throws {
        let folder = try TemporaryFolder()
        let home = try await Self.open(folder)
        #expect(await home.user == nil)
        var drafts: [EntryID] = []
        for _ in 0..<100 { drafts.append(try await Self.record("draft", home)) }
        let hint = try await Self.record("hint", home)
        let reprise = try await home.signIn(as: Self.ada)
        #expect(await home.user == Self.ada)
        #expect(try await reprise.journal.entry(hint) == nil)
        let sum = try await reprise.ledger()
        #expect(sum.accepted == 100 && sum.pending == 100 && sum.isBalanced)
        let seen = Mutex<[EntryID]>([])
        await reprise.journal.handle("draft") { entry in seen.withLock { $0.append(entry.id) } }
        await reprise.setReady(.ui)
        try await eventually("nothing is pending") { try await reprise.ledger().pending == 0 }
        #expect(seen.withLock { $0 } == drafts)
        await home.close()
    }

    @Test("an account that was left, and its journal, are released with what they handled")
    func released() async throws {
        let dialer = MemoryDialer()
        let home = try await Self.open(try TemporaryFolder(), dialer: dialer)
        weak var client: AccountClient?
        weak var journal: Journal?
        do {
            let reprise = try await home.signIn(as: Self.ada)
            (client, journal) = (reprise, reprise.journal)
            await reprise.journal.handle("draft") { _ in _ = try await reprise.ledger() }
            let running = Task { try await home.run() }
            _ = try await Self.frames(try await dialer.accept(), until: 1, as: Self.ada)
            running.cancel()
            try await running.value
        }
        try await home.signOut()
        try await eventually("nobody has it any more") { client == nil && journal == nil }
        await home.close()
    }

    @Test("messages published before sign-in are sent by the user who signs in")
    func publishedBefore() async throws {
        let folder = try TemporaryFolder()
        let dialer = MemoryDialer()
        let home = try await Self.open(folder, dialer: dialer)
        let id = try await home.current.channel("general").publish("1")
        try await home.signIn(as: Self.ada)
        let running = Task { try await home.run() }
        let socket = try await dialer.accept()
        let frames = try await Self.frames(socket, until: 2, as: Self.ada)
        guard case .hello(let hello) = frames[0], case .publish(let publish) = frames[1] else {
            Issue.record("hello, then the message")
            return
        }
        #expect(hello.token?.secret == "YWRh.Yg.1" && publish.id == id)
        running.cancel()
        try await running.value
        await home.close()
    }

    private static func frames(_ socket: MemorySocket, until count: Int, as user: UserID)
        async throws -> [ClientFrame]
    {
        var frames: [ClientFrame] = []
        var decoder = FrameDecoder()
        while frames.count < count, let bytes = await socket.sent() {
            frames.append(try decoder.clientFrame(bytes))
            guard case .hello = frames.last else { continue }
            let now = WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
            socket.push([
                ServerFrame.welcome(
                    .init(
                        version: 1, time: now, heartbeat: .seconds(25), server: "s",
                        session: .init(user: user, expires: now.advanced(by: .seconds(900))))
                ).encoded()
            ])
        }
        return frames
    }

    @Test("the signed-in user is remembered, and another user's journal keeps its work")
    func switching() async throws {
        let folder = try TemporaryFolder()
        let prepared = Mutex(0)
        var home = try await Self.open(folder) { _ in prepared.withLock { $0 += 1 } }
        try await home.signIn(as: Self.ada)
        let draft = try await Self.record("draft", home)
        let former = try await home.current
        try await home.signIn(as: Self.bob)
        #expect(try await home.current.ledger().accepted == 0)
        #expect(try await home.users() == [Self.ada, Self.bob])
        await expectError(.closed) {
            try await former.journal.record(NewEntry(kind: "draft", payload: []))
        }
        await home.close()

        home = try await Self.open(folder)
        #expect(await home.user == Self.bob)
        let reprise = try await home.signIn(as: Self.ada)
        #expect(try await reprise.journal.entry(draft)?.state == .pending)
        await home.close()
        #expect(prepared.withLock { $0 } == 3)
    }

    @Test("a run goes on over a change of accounts; a late frame of the former user reaches nobody")
    func lateFrames() async throws {
        let folder = try TemporaryFolder()
        let dialer = MemoryDialer()
        let home = try await Self.open(folder, dialer: dialer) { reprise in
            try await reprise.channel("general").subscribe()
        }
        try await home.signIn(as: Self.ada)
        let running = Task { try await home.run() }
        let first = try await dialer.accept()
        _ = try await Self.frames(first, until: 2, as: Self.ada)
        try await home.signIn(as: Self.bob)
        #expect(first.hasEnded)
        first.push([ServerFrame.event(try Self.event(1)).encoded()])
        let second = try await dialer.accept()
        let frames = try await Self.frames(second, until: 2, as: Self.bob)
        guard case .hello(let hello) = frames[0] else { return }
        #expect(hello.token?.secret == "Ym9i.Yg.1")
        #expect(try await home.current.ledger().accepted == 0)
        running.cancel()
        try await running.value
        await home.close()
    }

    private static func event(_ seq: Int64) throws -> ServerFrame.Event {
        .init(
            channel: try ChannelName("general"), seq: seq, prev: seq - 1,
            id: try EntryID("m\(seq)"), time: WallTime(milliseconds: 1), body: Array("1".utf8))
    }

    @Test(
        "signing out ends what was not sent as dead, says so in a ledger, and leaves nothing of the user"
    )
    func signingOut() async throws {
        let folder = try TemporaryFolder()
        var home = try await Self.open(folder)
        await expectError(.unauthorized) { try await home.signOut() }
        try await home.signIn(as: Self.ada)
        for _ in 0..<3 { try await home.current.channel("general").publish("1") }
        let sum = try await home.signOut()
        #expect(sum.accepted == 3 && sum.outcomes[.dead] == 3 && sum.pending == 0 && sum.isBalanced)
        #expect(await home.user == nil)
        #expect(try await home.users().isEmpty)
        #expect(try await home.current.ledger().accepted == 0)
        await home.close()
        home = try await Self.open(folder)
        #expect(await home.finalLedger == sum)
        let again = try await home.signIn(as: Self.ada)
        #expect(try await again.ledger().accepted == 0)
        await home.close()
    }

    @Test(
        "a sign-out that has failed is finished by the next sign-in, of whomever; until then nobody is signed in",
        arguments: ["ada", "bob"])
    func failedSignOut(next: String) async throws {
        let next = try UserID(next)
        let folder = try TemporaryFolder()
        let shared = folder.appending("shared")
        let home = try await Self.open(folder, shared: shared)
        try await home.signIn(as: Self.ada)
        _ = try await Self.record("draft", home)
        // Another owner has the journal: its entries cannot be ended now.
        let place = AccountFolders.currentJournal(in: folder.appending("home"))
        let owner = try OwnerLock(
            at: place.appendingPathComponent("owner.lock").path, takeOver: true)
        await expectError(.journalOwned) { try await home.signOut() }
        await expectError(.journalOwned) { try await home.signIn(as: next) }
        #expect(await home.user == nil)
        #expect(try await home.users() == [Self.ada])
        owner.release()
        let reprise = try await home.signIn(as: next)
        #expect(try await reprise.ledger().accepted == 0)
        #expect(try await home.users() == [next])
        let parts = try FileManager.default.contentsOfDirectory(atPath: shared.path)
        #expect(parts.count { $0.hasPrefix("user-") } == 1)
        await home.close()
    }

    @Test(
        "an account whose rows cannot be read ends all the same, at once or when the next process finishes it",
        arguments: [false, true])
    func damaged(atOpening: Bool) async throws {
        let folder = try TemporaryFolder()
        var home = try await Self.open(folder)
        try await home.signIn(as: Self.ada)
        try await home.current.channel("general").publish("1")
        let journal = try await home.current.journal
        try await journal.write { db in
            try db.execute(
                sql: """
                    INSERT INTO channelsLog (channel, epoch, coverage, head, version)
                    VALUES ('general', 'e7', '[[0,3]]', 3, 0)
                    """)
        }
        await home.close()
        let place = AccountFolders.currentJournal(in: folder.appending("home"))
        try rot("accepted", of: "channelsLog", in: place.path + "/journal.sqlite")
        if atOpening {
            // Killed right after it has begun.
            let leaving = AccountFolders.State(leaving: "ada")
            try JSONEncoder().encode(leaving).write(to: folder.appending("home/account.json"))
            home = try await Self.open(folder)
            #expect(await home.finalLedger == nil)
        } else {
            home = try await Self.open(folder)
            let error = await #expect(throws: RepriseError.self) { try await home.signOut() }
            #expect(error?.code == .corrupt && error?.message.contains("has ended") == true)
        }
        #expect(await home.user == nil)
        #expect(try await home.users().isEmpty)
        let again = try await home.signIn(as: Self.ada)
        #expect(try await again.ledger().accepted == 0)
        await home.close()
    }

    @Test(
        "an extension's entries from before sign-in move into the account; each account has its own shared folder"
    )
    func spool() async throws {
        let folder = try TemporaryFolder()
        let shared = folder.appending("shared")
        let home = try await Self.open(folder, shared: shared)
        let entry = NewEntry(kind: "draft", payload: [])
        try Spool(at: shared.appendingPathComponent("anonymous")).record(entry)
        let reprise = try await home.signIn(as: Self.ada)
        #expect(try await reprise.journal.entry(entry.id)?.state == .pending)
        // Beside the folders of nobody and of the user, the file that says whose is current.
        let names = try FileManager.default.contentsOfDirectory(atPath: shared.path)
        #expect(names.count == 3 && Set(names).isSuperset(of: ["anonymous", "account"]))
        try await home.signOut()
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: shared.path) == ["anonymous"])
        await home.close()
    }

    @Test("what an extension leaves in the shared folder goes to who is signed in then")
    func spoolOfShared() async throws {
        let folder = try TemporaryFolder()
        let shared = folder.appending("shared")
        let spool = Spool(at: shared)
        let first = NewEntry(kind: "draft", payload: [])
        try spool.record(first)  // before there is an app
        let home = try await Self.open(folder, shared: shared)
        let second = NewEntry(kind: "draft", payload: [])
        try spool.record(second)  // before the sign-in
        let ada = try await home.signIn(as: Self.ada)
        for entry in [first, second] {
            #expect(try await ada.journal.entry(entry.id)?.state == .pending)
        }
        let third = NewEntry(kind: "draft", payload: [])
        try spool.record(third)
        #expect(try await ada.journal.mergeSpool().accepted == 1)
        #expect(try await ada.journal.entry(third.id)?.state == .pending)
        let bob = try await home.signIn(as: Self.bob)
        let fourth = NewEntry(kind: "draft", payload: [])
        try spool.record(fourth)
        #expect(try await bob.journal.mergeSpool().accepted == 1)
        #expect(try await bob.journal.entry(fourth.id)?.state == .pending)
        // Nobody knows whose it would be.
        try Data("nonsense".utf8).write(to: shared.appendingPathComponent("account"))
        expectError(.notWritable) {
            try spool.record(NewEntry(kind: "draft", payload: []))
        }
        await home.close()
    }

    @Test("a client whose preparation fails is not at work, and signing in again mends that")
    func failingPreparation() async throws {
        struct Refusal: Error {}
        let folder = try TemporaryFolder()
        let fails = Mutex(false)
        let home = try await Self.open(folder) { _ in
            if fails.withLock({ $0 }) { throw Refusal() }
        }
        try await home.signIn(as: Self.ada)
        let draft = try await Self.record("draft", home)
        fails.withLock { $0 = true }
        await #expect(throws: Refusal.self) { try await home.signIn(as: Self.bob) }
        await expectError(.closed) { try await home.current }
        fails.withLock { $0 = false }
        let reprise = try await home.signIn(as: Self.ada)
        #expect(try await reprise.journal.entry(draft) != nil)
        await home.close()
    }

    @Test(
        "two processes cannot have the same accounts, and a damaged account.json is not taken for nobody"
    )
    func owners() async throws {
        let folder = try TemporaryFolder()
        let home = try await Self.open(folder)
        await expectError(.journalOwned) { try await Self.open(folder) }
        await home.close()
        try Data("{".utf8).write(to: folder.appending("home/account.json"))
        await expectError(.corrupt) { try await Self.open(folder) }
    }

    @Test("a change after the close opens no journal")
    func changesAfterClose() async throws {
        let folder = try TemporaryFolder()
        let home = try await Self.open(folder)
        try await home.signIn(as: Self.ada)
        await home.close()
        await expectError(.closed) { try await home.signIn(as: Self.bob) }
        await expectError(.closed) { try await home.signOut() }
        let next = try await Self.open(folder)
        #expect(await next.user == Self.ada)
        #expect(try await next.users() == [Self.ada])
        await next.close()
    }

    @Test("changes that are asked for at once are made one after the other")
    func atOnce() async throws {
        let folder = try TemporaryFolder()
        let home = try await Self.open(folder)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<12 {
                group.addTask {
                    try await home.signIn(as: number.isMultiple(of: 2) ? Self.ada : Self.bob)
                }
            }
            try await group.waitForAll()
        }
        #expect(try await home.users() == [Self.ada, Self.bob])
        #expect(await home.user != nil)
        await home.close()
    }

    @Test(
        "a folder's name is safe on every file system and names one user",
        arguments: [
            "a", "A", "ab", "Ada", "ada", "auth0|5f7c8ec7", "ada@example.org", "../../etc", "...",
            String(repeating: "~", count: 128),
        ])
    func names(text: String) async throws {
        let folder = try TemporaryFolder()
        let home = try await Self.open(folder)
        try await home.signIn(as: try UserID(text))
        #expect(try await home.users().map(\.text) == [text])
        let names = try FileManager.default.contentsOfDirectory(
            atPath: folder.appending("home").path)
        let name = try #require(names.first { $0.hasPrefix("user-") })
        #expect(name.utf8.count <= 255)
        #expect(name == name.lowercased() && !name.contains("/"))
        await home.close()
    }
}
