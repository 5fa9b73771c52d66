import Reprise
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("Forms through the facade")
struct FormsFacadeTests {
    /// There is no network.
    private struct NoDialer: SocketDialer {
        func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws -> any Socket
        {
            throw RepriseError(.unreachable, "No network.")
        }
    }

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open(_ forms: Forms.Configuration?) async throws -> AccountClient {
        var configuration = AccountClient.Configuration()
        configuration.forms = forms
        return try await AccountClient.open(
            at: folder.appending("journal"), server: "http://127.0.0.1:1", dialer: NoDialer(),
            configuration: configuration)
    }

    @Test(
        "Answers wait in the outbox, in the channel for answers, when the page hears that they are recorded"
    )
    func answers() async throws {
        let host = StandInHost(.showing("welcome"))
        let reprise = try await open(Forms.Configuration())
        let forms = try #require(reprise.forms)
        let running = Task {
            try await forms.run(
                webViews: host, catalogue: CatalogueSource(catalogue: FormsFixture.catalogue))
        }
        let event = try await forms.received(tap("a"))
        try await eventually("it is shown") {
            try await reprise.journal.entry(event)?.reason == "shown welcome"
        }
        let view = host.views[0]
        let showing = try #require(view.told("granted").first?["showing"] as? String)
        func submit(_ id: String, _ answers: [String: Any]) {
            let id = String(repeating: id, count: 32)
            view.say(
                "submit", ["form": "welcome", "showing": showing, "id": id, "answers": answers])
        }
        submit("a", ["email": "a@b.c"])
        submit("a", ["email": "a@b.c"])
        submit("b", ["text": String(repeating: "x", count: 65_536)])
        try await eventually("they are answered") {
            view.told("recorded").count == 2
                && view.told("refused").first?["reason"] as? String == "tooLarge"
        }
        #expect(try await reprise.channel("forms-answers").outbox.waiting() == 1)
        running.cancel()
        try await running.value
        await reprise.close()
    }

    @Test("A journal with events for forms opens without forms, and they wait for the next time")
    func without() async throws {
        let first = try await open(Forms.Configuration())
        let event = try #require(try await first.forms?.record("checkout"))
        await first.close()
        let second = try await open(nil)
        #expect(second.forms == nil)
        #expect(try await second.journal.entry(event)?.state == .pending)
        await second.close()
        #expect(try AccountClient.ledger(at: folder.appending("journal")).pending == 1)
    }

    @Test(
        "Events recorded before sign-in move into the account, and end at sign-out"
    )
    func accounts() async throws {
        var configuration = AccountClient.Configuration()
        configuration.forms = Forms.Configuration()
        let home = try await DeviceAccounts.open(
            at: folder.appending("home"), server: "http://127.0.0.1:1", dialer: NoDialer(),
            configuration: configuration,
            tokens: { _ in throw RepriseError(.unauthorized, "None.") })
        let event = try #require(try await home.current.forms?.record("checkout"))
        let ada = try await home.signIn(as: UserID("ada"))
        #expect(try await ada.journal.entry(event)?.state == .pending)
        let ledger = try await home.signOut()
        #expect(ledger.outcomes[.dead] == 1)
        #expect(ledger.pending == 0)
        await home.close()
    }

    @Test(
        "Rules that make no sense are refused before anything is opened", .limit("forms.kinds"),
        arguments: [
            [FormsEvent("two words")], [FormsEvent("a"), FormsEvent("a")],
            [FormsEvent("a", timeToLive: .seconds(1), then: .deliver)],
            (0...FormsEngineLimits.declaredEvents).map { FormsEvent("e\($0)") },
        ])
    func rules(events: [FormsEvent]) async throws {
        var forms = Forms.Configuration()
        forms.events = events
        await expectError(.badConfiguration) { _ = try await open(forms) }
    }
}
