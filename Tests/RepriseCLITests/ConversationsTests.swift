import Foundation
import GRDB
import Reprise
import RepriseChannels
import RepriseCommandLine
import RepriseNIO
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import Testing

@testable import RepriseCLI

/// Conversations that begin by themselves, at a real server; docs/channels.md.
@Suite("Conversations", .timeLimit(.minutes(1)))
struct ConversationsTests {
    private struct Note: Codable, Hashable, Sendable {
        var text: String
    }

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A device of bob's, signed in and running until the body returns.
    private func running<T>(
        _ url: String, _ change: (inout RepriseConfiguration) -> Void = { _ in },
        _ body: (RepriseClient) async throws -> T
    ) async throws -> T {
        var configuration = RepriseConfiguration(server: url)
        configuration.folder = folder.appending("bob")
        configuration.dialer = NIODialer()
        configuration.transport = NIOTransport()
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(10), longest: .milliseconds(100))
        configuration.tokens = { request in
            guard let token = try await DevToken.fetch(server: url, user: request.user) else {
                throw RepriseError(.unauthorized, "It gives no tokens.")
            }
            return token
        }
        change(&configuration)
        let client = RepriseClient(configuration)
        try await client.signIn("bob", tokens: nil)
        let running = Task { try await client.run() }
        let value = try await body(client)
        running.cancel()
        try await running.value
        await client.close()
        return value
    }

    private func list(_ client: RepriseClient) async -> [Conversation] {
        for await list in client.conversations.newest() { return list }
        return []
    }

    @discardableResult
    private func ask(
        _ user: String, of url: String, _ method: String, _ path: String, _ body: String = "{}"
    ) async throws -> String {
        let caller = Caller(server: url, source: .development(try UserID(user)))
        let answer = try await ServerAPI(server: url, caller: caller).exchange(
            method, path.split(separator: "/").map(String.init),
            body: ["DELETE", "GET"].contains(method) ? nil : Array(body.utf8))
        guard (200..<300).contains(answer.status) else {
            throw RepriseError(.refused, "\(answer.status)")
        }
        return String(decoding: answer.body, as: UTF8.self)
    }

    /// Ada makes a conversation with bob, and says something.
    private func begin(_ name: String, at url: String) async throws {
        try await ask(
            "ada", of: url, "PUT", "v1/channels/\(name)",
            #"{"visibility":"private","title":"The \#(name)"}"#)
        try await ask("ada", of: url, "PUT", "v1/channels/\(name)/members/bob")
        try await ask(
            "ada", of: url, "POST", "v1/channels/\(name)/messages",
            #"{"id":"\#(EntryID.random().text)","body":{"text":"hello"}}"#)
    }

    @Test(
        "A conversation that another user starts appears with its message, and ends with membership"
    )
    func live() async throws {
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        try await running(server.url) { client in
            try await eventually("it is connected") {
                for await state in client.connectionStates { return state == .connected }
                return false
            }
            #expect(await list(client).isEmpty)
            try await begin("team", at: server.url)
            try await eventually("it is there") {
                let found = await list(client)
                return found.first?.last?.json == #"{"text":"hello"}"#
            }
            let team = try #require(await list(client).first)
            #expect(team.title == "The team" && team.role == .member && team.unread == 1)
            #expect(team.others == [try UserID("ada")] && team.memberCount == 2)
            #expect(!team.isMuted)
            try await ask("ada", of: server.url, "PUT", "v1/profile", #"{"name":"Ada L."}"#)
            try await eventually("ada is called so") {
                await list(client).first?.profiles[try UserID("ada")]?.name == "Ada L."
            }
            try await client.conversations.setProfile(Profile(name: "Bob"))
            try await eventually("so is bob") {
                try await ask("bob", of: server.url, "GET", "v1/profile").contains("Bob")
            }
            let mention = #"{"text":"@bob","notice":{"mentions":["bob"]}}"#
            try await ask(
                "ada", of: server.url, "POST", "v1/channels/team/messages",
                #"{"id":"\#(EntryID.random().text)","body":\#(mention)}"#)
            try await eventually("it mentions him") {
                let team = await list(client).first
                return team?.unread == 2 && team?.mentions == 1
            }
            let told = try await ask("bob", of: server.url, "GET", "v1/channels/team/positions")
            #expect(told.contains(#""mentions":1"#), "\(told)")
            let channel = client.channel("team", of: Note.self)
            for await messages in channel.messages(newest: 1) where !messages.isEmpty {
                try await channel.markRead(upTo: messages[0])
                break
            }
            try await eventually("it is read") { await list(client).first?.unread == 0 }
            #expect(await list(client).first?.mentions == 0)
            try await ask(
                "bob", of: server.url, "PUT", "v1/mutes/channels/team", "{}")
            try await eventually("it is muted") { await list(client).first?.isMuted == true }
            try await ask("ada", of: server.url, "DELETE", "v1/channels/team/members/bob")
            try await eventually("it has ended") { await list(client).isEmpty }
        }
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test(
        "A conversation that starts while device and server are down is there when they run again")
    func dead() async throws {
        var server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        try await begin("early", at: server.url)
        let url = server.url
        try await running(url) { client in
            try await eventually("the first is there") {
                await list(client).first?.last != nil
            }
        }
        // The server dies with what it has just acknowledged.
        try await begin("late", at: url)
        server.tool.signal(SIGKILL)
        server = try await server.restarted()
        try await running(url) { client in
            try await eventually("both are there") {
                await list(client).compactMap(\.last).count == 2
            }
            let both = await list(client)
            #expect(both.map(\.id) == ["late", "early"] && both.allSatisfy { $0.unread == 1 })
            server.tool.signal(SIGKILL)
            server = try await server.restarted()
            try await begin("third", at: url)
            try await eventually("so is one that begins after a restart") {
                await list(client).first?.id == "third"
            }
        }
        // Without a server the list is as it was.
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
        try await running(url) { client in
            #expect(await list(client).map(\.id) == ["third", "late", "early"])
        }
    }

    @Test(
        "An archived conversation is in the other list until its next message, or while it is muted"
    )
    func archived() async throws {
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        func say(_ text: String) async throws {
            try await ask(
                "ada", of: server.url, "POST", "v1/channels/team/messages",
                #"{"id":"\#(EntryID.random().text)","body":{"text":"\#(text)"}}"#)
        }
        func archive(_ client: RepriseClient) async -> [Conversation] {
            for await list in client.conversations.archived() { return list }
            return []
        }
        try await begin("team", at: server.url)
        try await running(server.url) { client in
            try await eventually("it is there") { await list(client).first?.last != nil }
            try await client.conversations.archive("team")
            let moved = await archive(client)
            #expect(await list(client).isEmpty, "at once")
            #expect(moved.map(\.id) == ["team"] && moved.allSatisfy(\.isArchived))
            try await eventually("the server has it") {
                let said = try await ask("bob", of: server.url, "GET", directory())
                return said.contains("archived")
            }
            #expect(await archive(client).map(\.id) == ["team"])
            try await say("back")
            try await eventually("it is back") { await list(client).map(\.id) == ["team"] }
            #expect(await archive(client).isEmpty)
            try await ask("bob", of: server.url, "PUT", "v1/mutes/channels/team", "{}")
            try await eventually("a muted one stays") {
                await archive(client).first?.isMuted == true
            }
            try await client.conversations.unarchive("team")
            #expect(await list(client).first?.isArchived == false)

            try await client.conversations.setDraft("I have begun", in: "team")
            #expect(await list(client).first?.draft == "I have begun")
            await expectError(.noSuchEntry) {
                try await client.conversations.setDraft("x", in: "elsewhere")
            }
            await expectError(.tooLarge) {
                try await client.conversations.setDraft(
                    String(repeating: "x", count: ConversationLimits.draftBytes + 1), in: "team")
            }
        }
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
        try await running(server.url) { client in
            #expect(await list(client).first?.draft == "I have begun", "it is in the journal")
            try await client.conversations.setDraft("", in: "team")
            #expect(await list(client).first?.draft == nil)
        }
    }

    /// The path of bob's own messages about conversations.
    private func directory() throws -> String {
        "v1/channels/\(ChannelName.directory(of: try UserID("bob")))/messages"
    }

    @Test(
        "In a cluster one gateway writes the directory entries of all; when it ends another goes on"
    )
    func cluster() async throws {
        try await NatsServer.run { nats, folder in
            let views = [folder.path("view1"), folder.path("view2")]
            let options = ["--dev", "--log", nats.url]
            let first = try await ToolServer(data: views[0], options: options)
            // One takes the other's tokens.
            let files = FileManager.default
            try files.createDirectory(atPath: views[1], withIntermediateDirectories: true)
            try files.copyItem(
                atPath: views[0] + "/development.key", toPath: views[1] + "/development.key")
            let second = try await ToolServer(data: views[1], options: options)
            try await running(first.url) { client in
                try await eventually("it is connected") {
                    for await state in client.connectionStates { return state == .connected }
                    return false
                }
                try await begin("team", at: second.url)
                try await eventually("it is there") {
                    await list(client).first?.last?.json == #"{"text":"hello"}"#
                }
                #expect(await list(client).first?.title == "The team")
            }
            // It gives its lease back.
            first.tool.signal(SIGTERM)
            #expect(await first.tool.end() == 0, "\(first.tool.error)")
            try await begin("late", at: second.url)
            try await running(second.url) { client in
                try await eventually("both are there", within: .seconds(30)) {
                    await list(client).compactMap(\.last).count == 2
                }
            }
            second.tool.signal(SIGTERM)
            _ = await second.tool.end()
        }
    }

    @Test("Its first message rings")
    func rings() async throws {
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        let phone = MemoryNotifications(clock: ManualClock())
        let app = phone.connect()
        try await running(
            server.url,
            {
                $0.notifications = app
                $0.notices = Notices.Configuration()
            },
            { client in
                try await begin("team", at: server.url)
                // Within 5 s, without another load: `reprise-lab demo notices` prints the time.
                try await eventually("it rings") {
                    phone.delivered.contains { $0.request.content.body == "hello" }
                }
                #expect(phone.delivered.count == 1, "nothing rings for the directory")
                let content = phone.delivered.first?.request.content
                #expect(content?.title == "The team" && content?.subtitle == "ada")
            })
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test(
        "Conversations made, renamed and written to without a server reach the others once there is one"
    )
    func offline() async throws {
        var server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        let url = server.url
        try await running(url) { client in
            try await eventually("it is connected") {
                for await state in client.connectionStates { return state == .connected }
                return false
            }
            server.tool.signal(SIGKILL)
            _ = await server.tool.end()
            try await client.conversations.make("crew", title: "Crew", with: ["ada", "eve"])
            try await client.conversations.rename("crew", to: "The crew")
            let direct = try await client.conversations.direct(with: "ada")
            let crew = client.channel("crew", of: Note.self)
            try await crew.publish(Note(text: "here we are"))
            try await client.channel(direct, of: Note.self).publish(Note(text: "hello"))
            let made = await list(client)
            #expect(Set(made.map(\.id)) == ["crew", direct] && made.allSatisfy(\.isPending))
            #expect(made.first { $0.id == "crew" }?.title == "The crew")
            #expect(made.first { $0.isDirect }?.others == [try UserID("ada")])
            #expect(made.allSatisfy { $0.last?.status == .pending })

            server = try await server.restarted()
            try await eventually("both are there") {
                await list(client).allSatisfy { !$0.isPending && $0.last?.seq == 1 }
            }
            for name in ["crew", direct] {
                let said = try await ask("ada", of: url, "GET", "v1/channels/\(name)/messages")
                #expect(said.contains(name == "crew" ? "here we are" : "hello"))
            }
            let seen = try await ask("eve", of: url, "GET", "v1/channels/crew")
            #expect(seen.contains("The crew") && seen.contains(#""role":"member""#))
            #expect(try await client.ledger().outcomes[.dead, default: 0] == 0)
            try await client.conversations.leave("crew")
            try await eventually("it is left") {
                let isLeft = await list(client).map(\.id) == [direct]
                let seen = try? await ask("bob", of: url, "GET", "v1/channels/crew")
                return isLeft && seen == nil
            }
        }
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    /// Does something before a `PUT` or `PATCH` of the channel "crew" goes to the server.
    private struct Meanwhile: HTTPTransport {
        let transport = NIOTransport()
        let act: @Sendable () async throws -> Void

        func exchange(
            _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
            chunk: @Sendable ([UInt8]) async throws -> Void
        ) async throws {
            if request.method != "GET", request.url.hasSuffix("/v1/channels/crew") {
                try await act()
            }
            try await transport.exchange(request, head: head, chunk: chunk)
        }
    }

    @Test("A rename keeps what another changes at the same time; it makes no channel")
    func renamed() async throws {
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        let url = server.url
        let crew = "v1/channels/crew"
        try await ask(
            "ada", of: url, "PUT", crew, #"{"visibility":"private","title":"A"}"#)
        try await ask("ada", of: url, "PUT", "\(crew)/members/bob", #"{"role":"owner"}"#)
        let meanwhile = Meanwhile { [self] in
            try await ask("ada", of: url, "PATCH", crew, #"{"retention":{"messages":7}}"#)
        }
        try await running(url, { $0.transport = meanwhile }) { client in
            for title in ["B", nil] {
                try await client.conversations.rename("crew", to: title)
                try await eventually("it has another title") {
                    let isTold = await list(client).map(\.title) == [title]
                    return try await client.ledger().pending == 0 && isTold
                }
                let seen = try await ask("ada", of: url, "GET", crew)
                #expect(seen.contains(#""retention":{"messages":7}"#), "\(seen)")
                #expect(seen.contains(#""title":"B""#) == (title != nil), "\(seen)")
            }
            try await client.conversations.rename("nowhere", to: "C")
            try await eventually("it is refused") {
                try await client.ledger().outcomes[.dead] == 1
            }
            let reason = try await client.journal.deadLetters().first?.reason
            #expect(reason?.contains("The server has refused it (403)") == true)
            let all = try await ask("bob", of: url, "GET", "v1/channels")
            #expect(all.contains("crew") && !all.contains("nowhere"), "\(all)")
        }
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test(
        "A user joins and leaves a public conversation; its owner invites to it and removes users")
    func members() async throws {
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        let url = server.url
        try await ask(
            "ada", of: url, "PUT", "v1/channels/town", #"{"visibility":"public","title":"Town"}"#)
        try await running(url) { client in
            try await client.conversations.join("town")
            try await eventually("bob is a member") { await list(client).first?.title == "Town" }
            try await client.conversations.make("crew", title: "Crew")
            try await client.conversations.invite("eve", to: "crew")
            let eve = try UserID("eve")
            try await eventually("so is eve, of bob's own") {
                await list(client).first { $0.id == "crew" }?.others == [eve]
            }
            #expect(try await ask("eve", of: url, "GET", "v1/channels/crew").contains("Crew"))
            // Invited again, an owner stays one.
            let asOwner = #"{"role":"owner"}"#
            try await ask("bob", of: url, "PUT", "v1/channels/crew/members/eve", asOwner)
            try await client.conversations.invite("eve", to: "crew")
            try await client.conversations.invite("bob", to: "crew")
            try await client.conversations.rename("crew", to: "The crew")
            try await eventually("all of that is done") {
                try await ask("eve", of: url, "GET", "v1/channels/crew").contains("The crew")
            }
            let crew = try await ask("eve", of: url, "GET", "v1/channels/crew/members")
            #expect(crew.components(separatedBy: #""role":"owner""#).count == 3, "\(crew)")
            try await client.conversations.remove("eve", from: "crew")
            try await eventually("she is removed") {
                await list(client).first { $0.id == "crew" }?.memberCount == 1
            }
            await expectError(.refused) { try await ask("eve", of: url, "GET", "v1/channels/crew") }
            // A member may not invite; what follows in the channel goes on.
            try await client.conversations.invite("eve", to: "town")
            try await client.conversations.leave("town")
            #expect(await list(client).map(\.id) == ["crew"], "at once")
            try await eventually("the server has it") {
                let members = try await ask("ada", of: url, "GET", "v1/channels/town/members")
                return !members.contains("bob") && !members.contains("eve")
            }
            #expect(try await client.ledger().outcomes[.dead] == 1)
        }
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    @Test("A conversation whose name is taken is refused: it and its messages are dead letters")
    func refused() async throws {
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        try await ask(
            "ada", of: server.url, "PUT", "v1/channels/team", #"{"visibility":"private"}"#)
        try await running(server.url) { client in
            try await client.conversations.make("team", with: ["eve"])
            try await client.channel("team", of: Note.self).publish(Note(text: "mine"))
            try await eventually("both are dead") { try await client.ledger().outcomes[.dead] == 2 }
            let dead = try await client.journal.deadLetters()
            let refused = dead.first { $0.kind == Channels.conversationKind.name }
            #expect(refused?.reason?.contains("The server has refused it (403)") == true)
            #expect(await list(client).isEmpty)
            // One of the user's own of that name keeps its settings.
            try await ask(
                "bob", of: server.url, "PUT", "v1/channels/mine",
                #"{"visibility":"public","title":"Mine"}"#)
            try await client.conversations.make("mine", title: "Other", with: ["ada"])
            try await eventually("ada is there") {
                try await ask("ada", of: server.url, "GET", "v1/channels/mine")
                    .contains(#""role":"member""#)
            }
            let mine = try await ask("bob", of: server.url, "GET", "v1/channels/mine")
            #expect(mine.contains(#""title":"Mine""#) && mine.contains(#""visibility":"public""#))
            // What needs a user's name, or a place for HTTP, says so.
            await expectError(.malformed) { try await client.conversations.direct(with: "a b") }
            await expectError(.malformed) { try await client.conversations.direct(with: "bob") }
            await expectError(.tooLarge) {
                try await client.conversations.make(title: String(repeating: "x", count: 257))
            }
            await expectError(.malformed) {
                try await client.conversations.rename("team", to: "a\u{202e}b")
            }
            await expectError(.badChannelName) { try await client.conversations.join("-") }
        }
        #expect(
            try await ask("ada", of: server.url, "GET", "v1/channels/team").contains(#""head":0"#))
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }

    /// Changes the server's accounts, unseen by it.
    private func edit(_ sql: String) throws {
        var settings = Configuration()
        settings.busyMode = .timeout(5)
        let accounts = try DatabaseQueue(
            path: folder.path("data/accounts.sqlite"), configuration: settings)
        try accounts.write { try $0.execute(sql: sql) }
        try accounts.close()
    }

    @Test(
        "Beyond 10,000 conversations of two another is a dead letter, which can be retried",
        .limit("accounts.directs"))
    func manyDirect() async throws {
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        try await running(server.url) { client in
            try await eventually("it is connected") {
                for await state in client.connectionStates { return state == .connected }
                return false
            }
            try edit(
                """
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000)
                INSERT INTO members (channel, user, role, joined, since)
                SELECT 'direct:' || i, 'bob', 'member', 0, 1 FROM n
                """)
            let direct = try await client.conversations.direct(with: "ada")
            try await eventually("it is refused") {
                try await client.ledger().outcomes[.dead] == 1
            }
            let dead = try #require(try await client.journal.deadLetters().first)
            #expect(dead.kind == Channels.conversationKind.name)
            let words = "(409): A user has at most 10000 conversations of two."
            #expect(dead.reason?.hasSuffix(words) == true, "\(dead.reason ?? "")")
            #expect(await list(client).isEmpty)
            // He leaves one.
            try edit("DELETE FROM members WHERE channel = 'direct:1'")
            try await client.journal.retry(dead.id)
            try await eventually("it is there") { await list(client).map(\.id) == [direct] }
            try edit("DELETE FROM members WHERE since = 1")
        }
        server.tool.signal(SIGTERM)
        _ = await server.tool.end(within: 10)
    }

    @Test(
        "Beyond 100,000 members and 10,000 channels another is a dead letter, which can be retried",
        .limit("accounts.members", "accounts.channelsMade"))
    func manyMade() async throws {
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        try await running(server.url) { client in
            func refused(_ words: String) async throws -> EntryID {
                try await eventually("it is refused") {
                    try await client.ledger().outcomes[.dead] == 1
                }
                let dead = try #require(try await client.journal.deadLetters().first)
                #expect(dead.kind == Channels.conversationKind.name)
                #expect(dead.reason?.hasSuffix("(409): " + words) == true, "\(dead.reason ?? "")")
                return dead.id
            }
            let team = try await client.conversations.make()
            try await eventually("the server has it") {
                await list(client).map(\.isPending) == [false]
            }
            try edit("UPDATE channels SET members = 100000")
            try await client.conversations.invite("ada", to: team)
            let member = try await refused(
                "A channel has at most 100000 members. Remove others first.")
            // Others go.
            try edit("UPDATE channels SET members = 1")
            try await client.journal.retry(member)
            let ada = try UserID("ada")
            try await eventually("ada is there") { await list(client).first?.others == [ada] }
            try edit(
                """
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000)
                INSERT INTO channels (name, visibility, history, maker, made)
                SELECT 'c' || i, 'private', 'all', 'bob', 1 FROM n
                """)
            try await client.conversations.make(title: "More")
            let channel = try await refused(
                "A user makes at most 10000 channels. An admin may make more.")
            #expect(await list(client).map(\.id) == [team])
            try edit("DELETE FROM channels WHERE made = 1")
            try await client.journal.retry(channel)
            try await eventually("it is there") { await list(client).first?.title == "More" }
        }
        server.tool.signal(SIGTERM)
        _ = await server.tool.end(within: 10)
    }

    @Test("Two users who start a conversation with each other at the same time get one")
    func direct() async throws {
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        let names = try await withThrowingTaskGroup(of: String.self) { group in
            for number in 0..<12 {
                let (me, other) = number.isMultiple(of: 2) ? ("ada", "bob") : ("bob", "ada")
                group.addTask {
                    try await ask(me, of: server.url, "PUT", "v1/direct/\(other)")
                        .split(separator: "\"").map(String.init).first { $0.hasPrefix("direct:") }
                        ?? "?"
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        let name = try #require(names.first)
        #expect(names.count == 1)
        let members = try await ask("ada", of: server.url, "GET", "v1/channels/\(name)/members")
        #expect(
            !members.contains("owner") && members.components(separatedBy: "\"user\"").count == 3)
        // Nobody takes the name of such a conversation, or adds a third.
        for path in [
            "v1/channels/direct:x", "v1/channels/\(name)", "v1/channels/\(name)/members/eve",
        ] {
            await expectError(.refused) {
                try await ask("ada", of: server.url, "PUT", path, #"{"visibility":"public"}"#)
            }
        }
        server.tool.signal(SIGTERM)
        _ = await server.tool.end()
    }
}
