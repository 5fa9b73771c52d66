import Foundation
import Observation
import RepriseTestSupport
import RepriseTesting
import RepriseUI
import Testing

@MainActor @Suite("The models of the interface", .timeLimit(.minutes(1)))
struct ModelTests {
    private struct Note: Codable, Hashable, Sendable {
        var text: String
    }

    private let folder: TemporaryFolder
    private let server: MemoryServer

    init() throws {
        folder = try TemporaryFolder()
        server = MemoryServer(tokens: [
            try AccessToken("ada.Yg.1"): try UserID("ada"),
            try AccessToken("bob.Yg.1"): try UserID("bob"),
            try AccessToken("cem.Yg.1"): try UserID("cem"),
        ])
    }

    private func client(
        _ name: String, _ configure: (inout RepriseConfiguration) -> Void = { _ in }
    ) -> RepriseClient {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending(name)
        configuration.dialer = server
        configuration.channels.reconnect = Backoff(
            base: .milliseconds(1), longest: .milliseconds(5))
        configure(&configuration)
        return RepriseClient(configuration)
    }

    @Test("presence is followed as long as the model exists, and the user's own is sent and hidden")
    func presence() async throws {
        try server.setPresence(.online, of: "bob")
        try server.setMembers(["ada", "bob", "cem"], of: "team")
        let ada = client("ada") { $0.transport = server }
        let run = Task { try await ada.run() }
        try await ada.signIn("ada") { "ada.Yg.1" }
        let bob = try UserID("bob")
        var model: PresenceModel? = PresenceModel(ada.channel("team", of: Note.self))
        try await eventually("bob is there") { model?.presence.users[bob]?.state == .online }
        #expect(model?.presence.users.count == 2)
        let seen = WallTime(milliseconds: 7)
        try server.setPresence(.offline, of: "bob", seen: seen)
        try await eventually("bob is gone") { model?.presence.users[bob]?.seen == seen }
        var other: PresenceModel? = PresenceModel(ada.channel("elsewhere", of: Note.self))
        try await eventually("no member") { other?.presence == .refused(.forbidden) }
        #expect(server.watched(by: "ada") == ["elsewhere", "team"])
        other = nil
        ada.setIdle(true)
        try await eventually("she is idle") { server.reportedPresence(of: "ada") == [.idle] }
        try await ada.conversations.hidePresence(true)
        try await eventually("she hides") { server.settings(of: "ada").hidesPresence }
        model = nil
        try await eventually("nobody looks") { server.watched(by: "ada").isEmpty }
        run.cancel()
        _ = await run.result
        await ada.close()
    }

    @Test("A channel's model follows messages, state and unread count, and tells its observers")
    func channel() async throws {
        let (ada, bob) = (client("ada"), client("bob"))
        let runs = [ada, bob].map { client in Task { try await client.run() } }
        let said = ada.channel("general", of: Note.self)
        let chat = ChannelModel(bob.channel("general", of: Note.self))
        #expect(chat.messages.isEmpty && chat.state == .closed && chat.unread == 0)
        try await ada.signIn("ada") { "ada.Yg.1" }
        try await bob.signIn("bob") { "bob.Yg.1" }
        try await chat.channel.setVisible(true)
        try await eventually("it is live") { chat.state == .live }
        let changes = Seen<Void>()
        withObservationTracking {
            _ = chat.messages
        } onChange: {
            changes.add(())
        }
        let id = try await said.publish(Note(text: "hello"))
        try await eventually("it is listed") {
            chat.messages.map(\.content) == [.body(Note(text: "hello"))]
        }
        #expect(changes.count == 1)
        #expect(chat.messages.first?.id == id && chat.messages.first?.isMine == false)
        try await eventually("it is unread") { chat.unread == 1 }
        try await chat.channel.markRead(upTo: try #require(chat.messages.last))
        try await eventually("it is read") { chat.unread == 0 }
        try await eventually("ada types") {
            said.typing()
            return chat.typists.map(\.text) == ["ada"]
        }
        said.stopTyping()
        try await eventually("nobody types") { chat.typists.isEmpty }
        for run in runs { run.cancel() }
        for run in runs { try await run.value }
        await ada.close()
        await bob.close()
    }

    @Test("A message that the server refuses is among the failed ones, one that it takes is not")
    func failed() async throws {
        try server.setMembers(["bob"], of: "order-7")
        let client = client("ada")
        let refused = client.model(for: client.channel("order-7", of: Note.self))
        let taken = client.model(for: client.channel("general", of: Note.self))
        let run = Task { try await client.run() }
        try await client.signIn("ada") { "ada.Yg.1" }
        let id = try await refused.channel.publish(Note(text: "hello"))
        try await taken.channel.publish(Note(text: "hello"))
        try await eventually("it is refused") { refused.failed.map(\.id) == [id] }
        try await eventually("the other is sent") { taken.messages.first?.status == .sent }
        #expect(taken.failed.isEmpty)
        run.cancel()
        try await run.value
        await client.close()
    }

    @Test("A client's model follows its user, its connection and what is wrong")
    func state() async throws {
        let client = client("ada")
        let model = ClientModel(client)
        #expect(model.state == .idle && model.user == nil && model.problem == nil)
        #expect(!model.isConnected)
        let run = Task { try await client.run() }
        try await client.signIn("ada") { "ada.Yg.1" }
        try await eventually("she is signed in") { model.user?.text == "ada" }
        try await eventually("it is connected") { model.isConnected }
        run.cancel()
        try await run.value
        await client.close()
        try await eventually("it is closed") { model.state == .closed && !model.isConnected }
        let bad = ClientModel(RepriseClient(RepriseConfiguration()))
        #expect(bad.problem?.remedy?.contains("configuration.server = ") == true)
    }

    @Test("A model without references ends")
    func released() async throws {
        let client = client("ada")
        weak var released: ChannelModel<Note>?
        do {
            let model = ChannelModel(client.channel("general", of: Note.self))
            released = model
        }
        try await eventually("it is gone") { released == nil }
        await client.close()
    }

    // MARK: Cached models

    @Test("Views that ask for the same thing get one model, as long as one of them has it")
    func cached() async throws {
        let client = client("ada")
        let general = client.channel("general", of: Note.self)
        var chat: ChannelModel<Note>? = client.model(for: general)
        #expect(client.model(for: client.channel("general", of: Note.self)) === chat)
        #expect(client.model(for: general, newest: 20) !== chat)
        #expect(client.model(for: client.channel("other", of: Note.self)) !== chat)
        let other = self.client("bob")
        let foreign = other.model(for: other.channel("general", of: Note.self))
        #expect(foreign !== chat)
        let model = client.model
        #expect(client.model === model && other.model !== model)
        #expect(client.badgeModel !== other.badgeModel)
        weak let released = chat
        chat = nil
        try await eventually("nobody has it any more") { released == nil }
        let count = ModelCache.count
        #expect(client.model(for: general).messages.isEmpty)
        // Entries of released models have gone with that.
        #expect(ModelCache.count <= count)
        await client.close()
        await other.close()
    }

    @Test("A visible channel shows no banner, its messages are read, and both end with the view")
    func visible() async throws {
        let (ada, bob) = (client("ada"), client("bob"))
        let runs = [ada, bob].map { client in Task { try await client.run() } }
        let said = ada.channel("general", of: Note.self)
        let chat = bob.model(for: bob.channel("general", of: Note.self))
        let view = UUID()
        chat.setVisible(true, in: view)
        try await ada.signIn("ada") { "ada.Yg.1" }
        try await bob.signIn("bob") { "bob.Yg.1" }
        try await eventually("it is subscribed to, because it is visible") { chat.state == .live }
        try await said.publish(Note(text: "one"))
        try await eventually("it is listed and read") {
            // At first nothing is counted yet; the server knows who has read it.
            chat.messages.count == 1 && chat.unread == 0
                && server.unread(of: "general", for: "bob") == 0
        }
        chat.setVisible(false, in: view)
        try await said.publish(Note(text: "two"))
        try await eventually("it is unread") { chat.messages.count == 2 && chat.unread == 1 }
        chat.setVisible(true, in: view, marksRead: false)
        try await said.publish(Note(text: "three"))
        try await eventually("the app reports receipts itself") { chat.unread == 2 }
        chat.setVisible(true, in: view)
        try await eventually("all is read") { chat.unread == 0 }
        try await bob.signIn("cem") { "cem.Yg.1" }
        try await eventually("another user of the phone reads what is on the screen") {
            server.unread(of: "general", for: "cem") == 0
        }
        for run in runs { run.cancel() }
        for run in runs { try await run.value }
        await ada.close()
        await bob.close()
    }

    @Test("The badge counts what is unread, of the account that is signed in")
    func badge() async throws {
        let clock = ManualClock()
        let client = client("bob") { configuration in
            configuration.notices = Notices.Configuration()
            configuration.notifications = MemoryNotifications(clock: clock).connect()
        }
        let badge = client.badgeModel
        let run = Task { try await client.run() }
        try await client.signIn("bob") { "bob.Yg.1" }
        let general = client.channel("general", of: Note.self)
        try await general.consume(as: "inbox") { _ in }
        try server.publish(#"{"text":"hello"}"#, to: "general", from: try UserID("ada"))
        try await eventually("it counts") { badge.count == 1 && badge.total == 1 }
        #expect(!badge.isAhead)
        await client.foreground()
        var hint = PushHint(kind: .badge, channel: try ChannelName("general"), seq: 9, head: 9)
        hint.badge = .init(count: 5, asOf: WallTime(milliseconds: 1))
        await client.receivedPush(
            Array((#"{"reprise":"# + String(decoding: hint.json, as: UTF8.self) + "}").utf8))
        try await eventually("a push counts ahead") {
            badge.isAhead && badge.count == 5 && badge.total == 1
        }
        try await client.signIn("ada") { "ada.Yg.1" }
        try await eventually("another account has its own") { badge.count == 0 }
        run.cancel()
        try await run.value
        await client.close()
    }

    @Test("The conversations are those of who is signed in; archived ones stand apart")
    func conversations() async throws {
        let client = client("bob") { [server] in $0.transport = server }
        let inbox = client.conversationsModel()
        #expect(inbox === client.conversationsModel())
        let run = Task { try await client.run() }
        try await client.signIn("bob") { "bob.Yg.1" }
        try server.setMembers(["ada", "bob"], of: "team")
        try await eventually("it is there") { inbox.conversations.map(\.id) == ["team"] }
        try server.publish(#"{"text":"hello"}"#, to: "team", from: try UserID("ada"))
        try await eventually("it counts") { inbox.unread == 1 }
        try await client.conversations.archive("team")
        try await eventually("it is archived") {
            inbox.conversations.isEmpty && inbox.archived.map(\.id) == ["team"]
        }
        try await client.signIn("ada") { "ada.Yg.1" }
        try await eventually("hers is another list") {
            inbox.archived.isEmpty && inbox.conversations.map(\.id) == ["team"]
        }
        run.cancel()
        try await run.value
        await client.close()
    }

    @Test("A chain has one model, which follows its progress to the end, and a retry after that")
    func chain() async throws {
        struct Step: Worker {
            static let identifier = "step"

            func run(_ number: Int, _ work: WorkContext) async throws -> Int {
                if number == 2, work.attempt == 1 { throw DispatchFailure.permanent("Not yet.") }
                return number
            }
        }
        let steps = Chain<Int>("steps") { last in
            Work("one", Step.self) { _ in 1 }
            WaitFor(for: Readiness("go"))
            Work("last", Step.self) { _ in last }
        }
        let client = client("ada") { configuration in
            configuration.chains = Chains.Configuration()
            configuration.chains?.workers = [Step()]
            configuration.chains?.chains = [steps]
        }
        try await client.signIn("ada") { "ada.Yg.1" }
        let run = Task { try await client.run() }
        let id = try await client.chains.start(steps, input: 2)
        let upload = client.model(for: id)
        #expect(client.model(for: id) === upload && upload.id == id)
        #expect(upload.progress == nil && upload.fraction == 0 && !upload.isEnded)
        try await eventually("it waits after its first task") {
            upload.progress?.state == .running && upload.progress?.done == 1
        }
        #expect(abs(upload.fraction - 1.0 / 3) < 0.001)
        try await client.journal.setReady(Readiness("go"))
        try await eventually("it has failed") { upload.isEnded }
        #expect(upload.progress?.state == .failed)
        #expect(client.model(for: id) === upload)
        try await client.chains.retry(id)
        try await eventually("it goes on to its end") { upload.progress?.state == .succeeded }
        #expect(client.model(for: id) === upload && upload.fraction == 1)
        try await client.signIn("bob") { "bob.Yg.1" }
        try await eventually("it is ada's") { upload.progress == nil }
        run.cancel()
        try await run.value
        await client.close()
    }

    @Test("A running task counts with the part of it that is done")
    func fraction() async throws {
        struct Half: Worker {
            static let identifier = "half"
            let end: Signal

            func run(_ number: Int, _ work: WorkContext) async throws -> Int {
                await work.progress(0.5)
                await end.wait()
                return number
            }
        }
        let end = Signal()
        let halves = Chain<Int>("halves") { number in Work("half", Half.self) { _ in number } }
        let client = client("ada") { configuration in
            configuration.chains = Chains.Configuration()
            configuration.chains?.workers = [Half(end: end)]
            configuration.chains?.chains = [halves]
        }
        try await client.signIn("ada") { "ada.Yg.1" }
        let run = Task { try await client.run() }
        let upload = client.model(for: try await client.chains.start(halves, input: 1))
        try await eventually("half of it is done") { upload.fraction == 0.5 }
        #expect(upload.progress?.done == 0)
        end.raise()
        try await eventually("it is done") { upload.isEnded && upload.fraction == 1 }
        run.cancel()
        try await run.value
        await client.close()
    }

    @Test("The forms' model says which form is over the screen, and takes it away")
    func forms() async throws {
        let screen = ScriptedWebViews()
        let client = client("ada") { configuration in
            configuration.forms = Forms.Configuration()
            configuration.webViews = screen
            configuration.catalogue = CatalogueSource(
                catalogue: #"""
                    {"format":"forms/1","version":"1","forms":[
                    {"id":"welcome","triggers":[{"event":"launch"}],"title":"Welcome"}]}
                    """#)
        }
        let forms = client.formsModel
        #expect(forms.state == .idle && forms.form == nil && !forms.isReady)
        let run = Task { try await client.run() }
        try await client.signIn("ada") { "ada.Yg.1" }
        try await eventually("the page has its catalogue") { forms.isReady }
        try await client.recordEvent("launch")
        try await eventually("a form is shown") { forms.form == "welcome" }
        forms.dismiss()
        try await eventually("it is gone") { forms.form == nil && forms.isReady }
        run.cancel()
        try await run.value
        try await eventually("it has ended") { forms.state == .idle }
        await client.close()
    }
}
