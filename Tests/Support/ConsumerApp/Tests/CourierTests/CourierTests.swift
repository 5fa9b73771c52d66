import Courier
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

    let clock = ManualClock()
    let folder: TemporaryFolder
    let server: MemoryServer
    let phone: MemoryNotifications
    let screen: ScriptedWebViews
    let shifts = MemoryReminderStore()

    init() throws {
        folder = try TemporaryFolder()
        server = try MemoryServer(users: ["ada", "bob"], clock: clock)
        server.catalogue = Self.catalogue
        phone = MemoryNotifications(clock: clock)
        screen = ScriptedWebViews(clock: clock)
    }

    private func courier(dialer: (any SocketDialer)? = nil) -> Courier {
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.appending("journal")
        configuration.clock = clock
        configuration.dialer = dialer ?? server
        configuration.transport = server
        configuration.notifications = phone.connect()
        configuration.webViews = screen
        return Courier(configuration, photos: folder.url, shifts: shifts)
    }

    /// Runs the app of Ada, who is signed in.
    private func running(_ body: (Courier) async throws -> Void) async throws {
        let courier = courier()
        let running = Task { try await courier.client.run() }
        try await courier.client.signIn("ada") { [server] in try server.token(for: "ada") }
        try await body(courier)
        running.cancel()
        try await running.value
        await courier.client.close()
    }

    @Test("The catalogue is one")
    func catalogue() { #expect(FormsCatalogue.problems(in: Self.catalogue).isEmpty) }

    @Test("A customer's note comes to the courier, and is read")
    func chat() async throws {
        try server.setMembers(["ada", "bob"], of: "order-7")
        try await running { courier in
            let (notes, read) = AsyncStream.makeStream(of: OrderNote.self)
            try await courier.follow(order: "7") { read.yield($0) }
            try server.post(OrderNote(text: "Ring twice"), to: "order-7", from: "bob")
            for await note in notes {
                #expect(note.text == "Ring twice")
                break
            }
            try await courier.chat(about: "7").publish(OrderNote(text: "I will"))
            try await waitUntil("it is sent") {
                server.bodies(of: "order-7", as: OrderNote.self).map(\.text) == [
                    "Ring twice", "I will",
                ]
            }
        }
    }

    @Test("Ten minutes after a delivery a review is asked for, and sent")
    func review() async throws {
        try await running { courier in
            try await courier.delivered(order: "7")
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

    @Test("A shift is reminded of at its time, and a tap on it leads there")
    func shift() async throws {
        try await running { courier in
            shifts.save(
                Entity(id: "early", title: "Early shift"),
                reminders: [
                    Reminder(
                        id: "start", schedule: Schedule(.daily, at: [TimeOfDay(6, 0)]),
                        title: "Your shift begins")
                ])
            try await waitUntil("it is planned") { !phone.pending.isEmpty }
            try await clock.advance(by: .seconds(3_600)) { !phone.delivered.isEmpty }
            let shown = try #require(phone.delivered.first?.request)
            #expect(shown.content.title == "Your shift begins")
            try await courier.client.received(try phone.respond(to: shown.id))
            await courier.client.foreground()
            await courier.client.setReady(.ui)
            for await tap in courier.client.reminderTaps {
                guard case .active(let shift, _) = tap.resolution else { continue }
                #expect(shift.title == "Early shift")
                try await tap.presented()
                break
            }
        }
    }

    @Test("The proof goes to three places, and the customer is told once")
    func proof() async throws {
        server.answer { call in
            HTTPAnswer(
                status: 200, headers: [:],
                body: call.method == "GET" ? Array("photo".utf8) : [])
        }
        try await running { courier in
            let chains = try await courier.client.chains
            let id = try await chains.start(Proof.chain, input: .init(order: "7"))
            try await waitUntil("it is done") { try await chains.status(id)?.state == .succeeded }
            try await waitUntil("the customer is told") {
                server.bodies(of: "order-7", as: OrderNote.self).map(\.text) == ["It is delivered."]
            }
        }
        let framed = try Data(contentsOf: folder.appending("7.framed"))
        #expect(String(decoding: framed, as: UTF8.self) == "[photo]")
    }

    @Test("A worker goes on from its checkpoint")
    func frame() async throws {
        try Data("photo".utf8).write(to: folder.appending("7.raw"))
        let second = try WorkerRun(saved: Data("[pho".utf8))
        let size = try await second.perform(
            FramePhoto(photos: folder.url), .init(from: "7.raw", to: "7.framed"))
        #expect(size == 7 && second.checkpoints(as: Data.self).count == 2)
        #expect(second.progress.last?.fraction == 1)
    }

    @Test("A note is pushed to a courier whose app is not running")
    func push() async throws {
        try server.addPhone(phone, of: "ada")
        try server.post(OrderNote(text: "Ring twice"), to: "order-7", from: "bob")
        await server.push()
        #expect(phone.delivered.map(\.request.content.body) == ["Ring twice"])
    }

    @Test("Every message that was recorded before a kill is sent by the next process")
    func killed() async throws {
        let journal = folder.appending("journal")
        let recorded = try await ChildProcess.killed(
            .sibling("ConsumerApp"), ["--record", journal.path], afterLines: 20)
        #expect(recorded.count >= 20)
        try await running { _ in
            try await waitUntil("all are sent") {
                Set(server.messages(of: "order-7").map(\.id.text)).isSuperset(of: recorded)
            }
        }
    }
}
