import Foundation
import Reprise
import RepriseCommandLine
import RepriseNIO
import RepriseTestSupport
import RepriseTesting
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

    @Test("One that somebody starts appears by itself, with its message, and ends with membership")
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
            let channel = client.channel("team", of: Note.self)
            for await messages in channel.messages(newest: 1) where !messages.isEmpty {
                try await channel.markRead(upTo: messages[0])
                break
            }
            try await eventually("it is read") { await list(client).first?.unread == 0 }
            try await ask(
                "bob", of: server.url, "PUT", "v1/mutes/channels/team", "{}")
            try await eventually("it is muted") { await list(client).first?.isMuted == true }
            try await ask("ada", of: server.url, "DELETE", "v1/channels/team/members/bob")
            try await eventually("it has ended") { await list(client).isEmpty }
        }
        server.tool.signal(SIGTERM)
        _ = await server.tool.end(within: 10)
    }

    @Test("One that starts while both device and server are dead is there when they live again")
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
        _ = await server.tool.end(within: 10)
        try await running(url) { client in
            #expect(await list(client).map(\.id) == ["third", "late", "early"])
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
                try await eventually("it rings", within: .seconds(5)) {
                    phone.delivered.contains { $0.request.content.body == "hello" }
                }
                #expect(phone.delivered.count == 1, "nothing rings for the directory")
            })
        server.tool.signal(SIGTERM)
        _ = await server.tool.end(within: 10)
    }

    @Test(
        "What is made, written and renamed without a server is there for others when there is one")
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
        _ = await server.tool.end(within: 10)
    }

    @Test("One whose name another has is refused: it and its messages are dead letters")
    func refused() async throws {
        let server = try await ToolServer(data: folder.path("data"), options: ["--dev"])
        try await ask(
            "ada", of: server.url, "PUT", "v1/channels/team", #"{"visibility":"private"}"#)
        try await running(server.url) { client in
            try await client.conversations.make("team", with: ["eve"])
            try await client.channel("team", of: Note.self).publish(Note(text: "mine"))
            try await eventually("both are dead") { try await client.ledger().outcomes[.dead] == 2 }
            #expect(await list(client).isEmpty)
            // What needs a user's name, or a place for HTTP, says so.
            await expectError(.malformed) { try await client.conversations.direct(with: "a b") }
            await expectError(.tooLarge) {
                try await client.conversations.make(title: String(repeating: "x", count: 257))
            }
            await expectError(.badChannelName) { try await client.conversations.join("-") }
        }
        #expect(
            try await ask("ada", of: server.url, "GET", "v1/channels/team").contains(#""head":0"#))
        server.tool.signal(SIGTERM)
        _ = await server.tool.end(within: 10)
    }

    @Test("Two who ask for each other at the same time, on several devices, get one conversation")
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
        _ = await server.tool.end(within: 10)
    }
}
