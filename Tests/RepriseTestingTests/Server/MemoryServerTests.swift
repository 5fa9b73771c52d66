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

    @Test("A channel with members is refused to others, who may be let in later")
    func members() async throws {
        try server.setMembers(["bob"], of: "order-7")
        try server.post(Note(text: "for bob"), to: "order-7", from: "bob")
        try await running("ada") { client in
            let order = client.channel("order-7", of: Note.self)
            try await order.publish(Note(text: "hello"))
            try await waitUntil("it is refused") {
                try await client.ledger().outcomes[.dead] == 1
            }
        }
        #expect(server.bodies(of: "order-7", as: Note.self) == [Note(text: "for bob")])
        try server.setMembers(["ada", "bob"], of: "order-7")
        try await running("ada") { client in
            let order = client.channel("order-7", of: Note.self)
            try await order.publish(Note(text: "hello"))
            try await waitUntil("it is stored") { server.messages(of: "order-7").count == 2 }
        }
        #expect(server.messages(of: "order-7").map { $0.from?.text } == ["bob", "ada"])
    }

    @Test("Messages have the clock's time, and who has read what is told to everybody")
    func receipts() async throws {
        try server.post(Note(text: "one"), to: "general", from: "bob")
        clock.advance(by: .seconds(60))
        try server.post(Note(text: "two"), to: "general", from: "bob")
        let times = server.messages(of: "general").map(\.time)
        #expect(times[0].duration(to: times[1]) == .seconds(60) && times[1] == clock.now)
        #expect(server.unread(of: "general", for: "ada") == 2)
        #expect(server.unread(of: "general", for: "bob") == 0)
        try await running("ada") { ada in
            let general = ada.channel("general", of: Note.self)
            try await general.consume(as: "inbox") { _ in }
            for await page in general.messages() where page.count == 2 {
                try await general.markRead(upTo: try #require(page.last))
                break
            }
            try await clock.advance(by: .seconds(1)) {
                server.unread(of: "general", for: "ada") == 0
            }
        }
        #expect(server.positions(of: "general").map(\.read) == [2])
    }

    @Test("A connection that is silent for two of the promised heartbeats is replaced")
    func silence() async throws {
        server.faults.heartbeat = .seconds(5)
        try await running("ada", { $0.clock = clock }) { _ in
            try await waitUntil("she is greeted") { server.greeted.count == 1 }
            let start = clock.uptime()
            try await clock.advance(by: .seconds(1)) { server.greeted.count == 2 }
            // A step may pass before she waits, and she dials a moment later.
            let silent = clock.uptime() - start
            #expect(silent >= .seconds(10))
            // Of the 25 s that are usual it would be 55.
            #expect(silent < .seconds(50))
        }
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

    @Test("A member is told that he has muted a channel, and that he has not any more")
    func mutes() async throws {
        try server.setMembers(["ada", "bob"], of: "order-7")
        let system = MemoryNotifications(clock: clock)
        try await running(
            "ada",
            {
                $0.notices = Notices.Configuration()
                $0.notifications = system.connect()
            }
        ) { client in
            func isMuted() async -> Bool? {
                for await list in client.conversations.newest() { return list.first?.isMuted }
                return nil
            }
            try await waitUntil("it is there") { await isMuted() == false }
            try await client.notices.mute(channel: try ChannelName("order-7"))
            try await waitUntil("it is muted") { await isMuted() == true }
            try await client.notices.unmute(channel: try ChannelName("order-7"))
            try await waitUntil("it is not") { await isMuted() == false }
        }
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

    @Test("A merge patch keeps the title that it leaves out; with If-Match it makes no channel")
    func mergePatch() async throws {
        let token = try server.token(for: "ada")
        func patch(_ body: String, ifMatch condition: String? = "*") async throws -> String {
            var headers = ["authorization": "Bearer \(token)"]
            headers["if-match"] = condition
            let answer = try await server.fetch(
                HTTPCall(
                    method: "PATCH", url: "http://memory/v1/channels/team", headers: headers,
                    body: .bytes(Array(body.utf8))), limit: 10_000)
            let words = answer.status == 200 ? String(decoding: answer.body, as: UTF8.self) : ""
            return "\(answer.status) \(words)"
        }
        let titled = #"200 {"title":"T","visibility":"private"}"#
        #expect(try await patch(#"{"title":"T"}"#) == "403 ")
        #expect(try await patch(#"{"title":"T"}"#, ifMatch: nil) == titled)
        #expect(try await patch("{}") == titled)
        #expect(try await patch(#"{"title":null}"#) == #"200 {"visibility":"private"}"#)
        #expect(try await patch(#"{"title":1}"#) == "400 ")
        #expect(try await patch(#"{"tilte":"U"}"#) == "400 ")
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
        #expect(content.title == "bob" && content.thread == "order-7" && content.sound)
        #expect(phone.badge == 1 && content.badge == 1)
        let hint = try PushHint(payload: content.info)
        #expect(hint.kind == .alert && hint.seq == 1 && hint.from?.text == "bob")
        #expect(hint.to?.text == "ada")
    }

    @Test("Nobody is ahead of a log that begins anew: what comes then is unread, and pushed")
    func restored() async throws {
        let phone = MemoryNotifications(clock: clock)
        try server.addPhone(phone, of: "ada")
        for text in ["one", "two"] {
            try server.post(Note(text: text), to: "general", from: "bob")
        }
        await server.push()
        #expect(phone.delivered.map(\.request.content.body) == ["one", "two"])
        try await running("ada", { $0.clock = clock }) { client in
            let general = client.channel("general", of: Note.self)
            try await general.consume(as: "inbox") { _ in }
            for await page in general.messages() where page.count == 2 {
                try await general.markRead(upTo: try #require(page.last))
                break
            }
            try await clock.advance(by: .seconds(1)) {
                server.unread(of: "general", for: "ada") == 0
            }
        }
        try server.changeEpoch("general")
        try server.post(Note(text: "anew"), to: "general", from: "bob")
        #expect(server.unread(of: "general", for: "ada") == 1)
        await server.push()
        #expect(phone.delivered.last?.request.content.body == "anew")
    }

    @Test("A user with that setting gets a push without a sound while he reads on another device")
    func elsewhere() async throws {
        let other = MemoryNotifications(clock: clock)
        let own = MemoryNotifications(clock: clock)
        try server.addPhone(other, of: "ada")
        func sound(_ text: String, _ phone: MemoryNotifications) -> Bool? {
            phone.delivered.first { $0.request.content.body == text }?.request.content.sound
        }
        let system = MemoryNotifications(clock: clock)
        try await running(
            "ada",
            {
                $0.notices = Notices.Configuration()
                $0.notifications = system.connect()
                $0.clock = clock
            }
        ) { client in
            try await client.registered(pushToken: [0xab, 0xcd])
            try await client.notices.setSilentElsewhere(true)
            try await waitUntil("it is told") {
                let told = server.settings(of: "ada")
                return told.isSilentElsewhere && !told.pushTokens.isEmpty
            }
            let device = try #require(server.settings(of: "ada").pushTokens.keys.first)
            try server.addPhone(own, of: "ada", device: device)
            let general = client.channel("general", of: Note.self)
            try await general.consume(as: "inbox") { _ in }
            try server.post(Note(text: "one"), to: "general", from: "bob")
            for await page in general.messages() where page.count == 1 {
                try await general.markRead(upTo: try #require(page.last))
                break
            }
            try await clock.advance(by: .seconds(1)) {
                server.unread(of: "general", for: "ada") == 0
            }
        }
        try server.post(Note(text: "two"), to: "general", from: "bob")
        await server.push()
        #expect(sound("two", other) == false)
        #expect(sound("two", own) == true, "it is this device that she uses")
        clock.advance(by: .seconds(120))
        try server.post(Note(text: "three"), to: "general", from: "bob")
        await server.push()
        #expect(sound("three", other) == true, "she has put it down")
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

    @Test("Mutes leave the badge alone; what is read elsewhere is taken away by a push to the app")
    func quietly() async throws {
        let phone = MemoryNotifications(clock: clock)
        try await push(phone) { client in
            let general = client.channel("general", of: Note.self)
            try await general.consume(as: "inbox") { _ in }
            try server.post(Note(text: "one"), to: "general", from: "bob")
            await server.push()
            try await waitUntil("it is shown") { phone.delivered.count == 1 }
            try await client.notices.mute(channel: try ChannelName("general"))
            try await waitUntil("it is muted") {
                server.settings(of: "ada").mutedChannels["general"] != nil
            }
            try server.post(Note(text: "two"), to: "general", from: "bob")
            await server.push()
            try await waitUntil("the badge alone changes") { phone.badge == 2 }
            #expect(phone.delivered.count == 1)
            for await page in general.messages() where page.count == 2 {
                try await general.markRead(upTo: try #require(page.last))
                break
            }
            try await clock.advance(by: .seconds(1)) {
                server.unread(of: "general", for: "ada") == 0
            }
            await server.push()
            try await waitUntil("badge and banner are removed") {
                phone.badge == 0 && phone.delivered.isEmpty
            }
        }
    }
}
