import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("The in-memory server", .timeLimit(.minutes(1)))
struct MemoryServerTests {
    private struct Note: Codable, Hashable, Sendable {
        var text: String
    }

    private let clock = ManualClock()
    private let folder: TemporaryFolder
    private let server: MemoryServer

    init() throws {
        folder = try TemporaryFolder()
        server = try MemoryServer(users: ["ada", "bob"], clock: clock)
    }

    private func client(
        _ user: String, _ change: (inout RepriseConfiguration) -> Void = { _ in }
    ) -> RepriseClient {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending(user)
        configuration.dialer = server
        configuration.transport = server
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(1), longest: .milliseconds(5))
        change(&configuration)
        return RepriseClient(configuration)
    }

    /// Runs an app of a signed-in user.
    private func running(
        _ user: String, _ change: (inout RepriseConfiguration) -> Void = { _ in },
        _ body: (RepriseClient) async throws -> Void
    ) async throws {
        let client = client(user, change)
        let running = Task { try await client.run() }
        try await client.signIn(user) { [server] in try server.token(for: user) }
        try await body(client)
        running.cancel()
        try await running.value
        await client.close()
    }

    // MARK: Users

    @Test("A user is greeted with a token of his own, and again after it was revoked")
    func tokens() async throws {
        try await running("ada") { client in
            let notes = client.channel("general", of: Note.self)
            try await notes.consume(as: "inbox") { _ in }
            try await notes.caughtUp()
            let first = try server.token(for: "ada")
            server.revokeTokens(of: "ada")
            #expect(try server.token(for: "ada") != first)
            try await waitUntil("she is greeted again") { server.greeted.count == 2 }
        }
        #expect(server.greeted.map { $0?.text } == ["ada", "ada"])
    }

    // MARK: Settings

    @Test("Mutes, quiet hours and the push token of an app arrive, and come back on another phone")
    func settings() async throws {
        let system = MemoryNotifications(clock: clock)
        func notices(_ configuration: inout RepriseConfiguration) {
            configuration.notices = Notices.Configuration()
            configuration.notifications = system.connect()
        }
        try await running("ada", notices) { client in
            try await client.registered(pushToken: [0xab, 0xcd])
            let settings = try await client.notices
            try await settings.mute(channel: try ChannelName("general"))
            try await settings.setQuietHours(
                try QuietHours(from: "22:00", to: "07:00", zone: "Europe/Berlin"))
            try await waitUntil("they arrive") {
                let told = server.settings(of: "ada")
                return told.mutedChannels["general"] != nil && told.quietHours != nil
                    && told.pushTokens.values.contains("abcd")
            }
        }
        try await running("ada", notices) { _ in }
        let other = client("ada2", notices)
        let running = Task { try await other.run() }
        try await other.signIn("ada") { [server] in try server.token(for: "ada") }
        try await waitUntil("they come back") {
            try await other.notices.settings.quiet?.hours.zone == "Europe/Berlin"
        }
        running.cancel()
        try await running.value
        await other.close()
    }

    @Test("The catalogue of forms is served, and only once while it is unchanged")
    func forms() async throws {
        server.catalogue = """
            {"format": "forms/1", "version": "1", "forms": [
                {"id": "welcome", "title": "Welcome", "triggers": [{"event": "opened"}]}]}
            """
        let screen = ScriptedWebViews()
        try await running(
            "ada",
            {
                $0.forms = Forms.Configuration()
                $0.webViews = screen
            }
        ) { client in
            try await client.recordEvent("opened")
            #expect(try await screen.form().title == "Welcome")
        }
        let answer = try await server.fetch(
            HTTPCall(url: "http://memory/v1/forms?company=default"), limit: 10_000)
        let tag = try #require(answer.headers["etag"])
        let again = HTTPCall(
            url: "http://memory/v1/forms?company=default", headers: ["if-none-match": tag])
        #expect(try await server.fetch(again, limit: 10_000).status == 304)
        let stranger = HTTPCall(url: "http://memory/v1/mutes")
        #expect(try await server.fetch(stranger, limit: 10_000).status == 401)
    }

    // MARK: Push

    private func push(
        _ phone: MemoryNotifications, _ change: (inout RepriseConfiguration) -> Void = { _ in },
        _ body: (RepriseClient) async throws -> Void
    ) async throws {
        let connection = phone.connect()
        try await running(
            "ada",
            {
                $0.notices = Notices.Configuration()
                $0.notifications = connection
                $0.clock = clock
                change(&$0)
            }
        ) { client in
            try server.addPhone(phone, of: "ada", app: client)
            try await body(client)
        }
    }

    @Test("A message is pushed to a phone that does not have it, once, with the real payload")
    func alerts() async throws {
        let phone = MemoryNotifications(clock: clock)
        try server.addPhone(phone, of: "ada")
        try server.post(Note(text: "one"), to: "order-7", from: "bob")
        try server.post(Note(text: "mine"), to: "order-7", from: "ada")
        try server.setMembers(["bob"], of: "secret")
        try server.post(Note(text: "not hers"), to: "secret", from: "bob")
        await server.push()
        await server.push()
        #expect(phone.delivered.map(\.request.content.body) == ["one"])
        let content = try #require(phone.delivered.first?.request.content)
        #expect(content.title == "order-7" && content.thread == "order-7" && content.sound)
        #expect(phone.badge == 1 && content.badge == 1)
        let hint = try PushHint(payload: content.info)
        #expect(hint.kind == .alert && hint.seq == 1 && hint.from?.text == "bob")
        #expect(hint.to?.text == "ada")
    }

    @Test("A tap on a pushed notification is recorded for its message")
    func tap() async throws {
        let phone = MemoryNotifications(clock: clock)
        try await push(phone) { client in
            try server.post(Note(text: "one"), to: "order-7", from: "bob")
            await server.push()
            let id = try #require(phone.delivered.first?.request.id)
            expectError(.noSuchEntry) { try phone.respond(to: "other") }
            let tap = try phone.respond(to: id)
            try await client.received(tap)
            #expect(try await client.journal.entry(tap.tapID) != nil)
            #expect(phone.delivered.isEmpty)
        }
    }
}
