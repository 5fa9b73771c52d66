import CourierCore
import Foundation
import Reprise
import RepriseTesting
import Testing

/// The unit tests of a courier's app: public API alone, a clock that the test moves, no network.
@Suite("Courier", .timeLimit(.minutes(1)))
struct CourierTests {
    private static let catalogue = """
        {"format": "forms/1", "version": "1", "forms": [
            {"id": "review", "title": "How was it?",
             "triggers": [{"event": "delivered", "delay": 600}],
             "fields": [{"name": "stars", "label": "Stars", "type": "number", "required": true}],
             "buttons": [{"label": "Send", "actions": [{"type": "submit"}]}]}]}
        """
    private static let order = Order(id: "7", customer: "Bob", street: "Elm Street 4")

    /// Larger than a checkpoint may be.
    private static let photo = String(repeating: "photo", count: 20_000)

    let clock = ManualClock()
    let folder: TemporaryFolder
    let server: MemoryServer
    let phone: MemoryNotifications
    let screen: ScriptedWebViews

    init() throws {
        folder = try TemporaryFolder()
        server = try MemoryServer(users: ["ada", "bob"], clock: clock)
        server.catalogue = Self.catalogue
        phone = MemoryNotifications(clock: clock)
        screen = ScriptedWebViews(clock: clock)
    }

    private func courier(_ notifications: any UserNotifications) -> Courier {
        Courier(
            in: folder.url, office: "http://127.0.0.1:80", transport: server,
            notifications: notifications)
    }

    /// The app, with what is of the system's in memory.
    private func app() -> (Courier, RepriseClient) {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("journal")
        configuration.clock = clock
        configuration.dialer = server
        configuration.transport = server
        let notifications = phone.connect()
        configuration.notifications = notifications
        configuration.webViews = screen
        let courier = courier(notifications)
        configuration.tokens = courier.tokens
        configuration.forms = .init()
        configuration.reminders = courier.reminders
        configuration.reminders?.zone = { .gmt }
        configuration.chains = courier.chains
        configuration.notices = .init()
        return (courier, RepriseClient(configuration))
    }

    /// The courier's office, which gives a token to anybody.
    private func openOffice() {
        server.answer { [server] call in
            let token = try? call.url.split(separator: "user=").dropFirst().first.map {
                try server.token(for: String($0))
            }
            return HTTPAnswer(
                status: 200, headers: [:],
                body: Array((token ?? (call.method == "GET" ? Self.photo : "")).utf8))
        }
    }

    /// Runs the app of Ada, who is signed in.
    private func running(_ body: (Courier, RepriseClient) async throws -> Void) async throws {
        openOffice()
        let (courier, client) = app()
        let running = Task { try await client.run() }
        let beside = Task { try await courier.run(beside: client) }
        try await waitUntil("it has begun") { (try? await courier.signIn("ada")) != nil }
        try await body(courier, client)
        beside.cancel()
        running.cancel()
        try await running.value
        await client.close()
    }

    @Test(
        "A conversation is about an order, or a talk",
        arguments: [("orders", false), ("order-7", false), ("shift-1", true)])
    func talk(channel: String, isTalk: Bool) { #expect(Courier.isTalk(channel) == isTalk) }

    @Test("The catalogue is one")
    func catalogue() { #expect(FormsCatalogue.problems(in: Self.catalogue).isEmpty) }

    @Test("An order comes from the office, and the courier and the customer talk about it")
    func chat() async throws {
        try server.setMembers(["ada", "bob"], of: "order-7")
        try await running { courier, client in
            try server.post(Self.order, to: "orders", from: "bob")
            for await list in courier.orders.lists where list.map(\.order) == [Self.order] { break }
            try server.post(OrderNote(text: "Ring twice"), to: "order-7", from: "bob")
            let chat = courier.chat(about: Self.order, client)
            for await page in chat.messages() where page.count == 1 { break }
            try await chat.publish(OrderNote(text: "I will"))
            try await waitUntil("it is sent") {
                server.bodies(of: "order-7", as: OrderNote.self).map(\.text) == [
                    "Ring twice", "I will",
                ]
            }
        }
    }

    @Test("Ten minutes after a delivery a review is asked for, and sent")
    func review() async throws {
        try await running { courier, _ in
            try courier.orders.save(Self.order)
            try await courier.delivered(Self.order)
            try await clock.advance(by: .seconds(60)) { screen.current != nil }
            #expect(try await screen.form().title == "How was it?")
            try await screen.click("Send")
            #expect(screen.current?.field("Stars")?.error == "Please answer this.")
            try await screen.type("5", into: "Stars")
            try await screen.click("Send")
            try await screen.gone()
            try await clock.advance(by: .seconds(1)) {
                server.messages(of: "forms-answers").contains {
                    String(decoding: $0.body, as: UTF8.self).contains(#""stars":5"#)
                }
            }
        }
    }

    @Test("An order that is due is reminded of, and a tap on that leads to it")
    func due() async throws {
        try await running { courier, client in
            var order = Self.order
            order.due = Schedule(.daily, at: [TimeOfDay(6, 0)])
            try courier.orders.save(order)
            try await waitUntil("it is planned") { !phone.pending.isEmpty }
            try await clock.advance(by: .seconds(3_600)) { !phone.delivered.isEmpty }
            let shown = try #require(phone.delivered.first?.request)
            #expect(shown.content.title == "Bob waits for order 7")
            try await client.received(try phone.respond(to: shown.id))
            await client.foreground()
            await client.setReady(.ui)
            for await tap in client.reminderTaps {
                guard case .active(let entity, _) = tap.resolution else { continue }
                #expect(entity.title == "Order 7, Bob")
                try await tap.presented()
                break
            }
        }
    }

    @Test("Orders, and what was done on a reminder, are there after a kill; a command counts once")
    func store() async throws {
        let file = folder.appending("orders.json")
        try OrderStore(at: file).save(Self.order)
        let store = OrderStore(at: file)
        try await store.load()
        guard case .found(let entity) = try await store.find(Route(sort: "order", id: "7")) else {
            return #expect(Bool(false), "the order is not there")
        }
        let command = ReminderCommand(
            id: .random(), action: .log("On my way"), entity: entity, part: nil, occurrence: nil)
        try await store.apply(command)
        try await OrderStore(at: file).apply(command)
        let again = OrderStore(at: file)
        #expect(try await again.isApplied(command.id))
        for await list in again.lists {
            #expect(list.map(\.answers) == [["On my way"]])
            break
        }
    }

    @Test("Another courier finds nothing of the former one's orders")
    func accounts() async throws {
        try await running { courier, _ in
            try server.post(Self.order, to: "orders", from: "bob")
            for await list in courier.orders.lists where list.count == 1 { break }
            try await courier.signOut()
            for await list in courier.orders.lists where list.isEmpty { break }
            try await courier.signIn("bob")
            // Those in the channel are his, too.
            for await list in courier.orders.lists where list.count == 1 { break }
        }
    }

    @Test("The proof goes to three places, and the customer is told once")
    func proof() async throws {
        try await running { courier, client in
            let id = try await courier.prove(Self.order)
            let chains = try await client.chains
            try await waitUntil("it is done") { try await chains.status(id)?.state == .succeeded }
            try await waitUntil("the customer is told") {
                server.bodies(of: "order-7", as: OrderNote.self).map(\.text) == ["It is delivered."]
            }
        }
        let framed = try Data(contentsOf: folder.appending("photos/7.framed"))
        #expect(String(decoding: framed, as: UTF8.self) == "[\(Self.photo)]")
    }

    @Test("A worker goes on from its checkpoint")
    func frame() async throws {
        try Data("photo".utf8).write(to: folder.appending("7.raw"))
        // The process died after it had written a byte that no checkpoint covers.
        try Data("[phot".utf8).write(to: folder.appending("7.framed.part"))
        let second = try WorkerRun(saved: 3)
        let size = try await second.perform(
            FramePhoto(photos: folder.url), .init(from: "7.raw", to: "7.framed"))
        #expect(size == 7 && second.checkpoints(as: Int.self) == [4, 5])
        #expect(second.progress.last?.fraction == 1)
        let framed = try Data(contentsOf: folder.appending("7.framed"))
        #expect(String(decoding: framed, as: UTF8.self) == "[photo]")
    }

    @Test("A note is pushed to a courier whose app is not running")
    func push() async throws {
        try server.addPhone(phone, of: "ada")
        try server.post(OrderNote(text: "Ring twice"), to: "order-7", from: "bob")
        await server.push()
        #expect(phone.delivered.map(\.request.content.body) == ["Ring twice"])
    }

    #if os(Linux) || os(macOS)
        @Test("Every message that was recorded before a kill is sent by the next process")
        func killed() async throws {
            let journal = folder.appending("journal")
            let recorded = try await ChildProcess.killed(
                .sibling("CourierTool"), ["--record", journal.path], afterLines: 20)
            #expect(recorded.count >= 20)
            try await running { _, _ in
                try await waitUntil("all are sent") {
                    Set(server.messages(of: "order-7").map(\.id.text)).isSuperset(of: recorded)
                }
            }
        }
    #endif
}
