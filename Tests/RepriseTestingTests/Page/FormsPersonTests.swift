import Foundation
import Reprise
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

/// A person before a form, in the test kit's page and in a browser.
protocol FormsPerson: Sendable {
    /// The title, and what is said below the fields.
    func texts() async throws -> [String]
    func click(_ label: String) async throws
    func type(_ text: String) async throws
    func type(_ text: String, into label: String) async throws
    func press(_ key: String, isShifted: Bool) async throws
    func gone(within limit: Duration) async throws
}

extension ScriptedWebViews: FormsPerson {
    func texts() async throws -> [String] {
        let form = try await form()
        return [form.title] + form.fields.map(\.error) + [form.status]
    }
}

extension ChromiumWebViews: FormsPerson {
    func texts() async throws -> [String] { try await form() }
}

@Suite("A form, in the test kit's page and in Chromium", .serialized, .timeLimit(.minutes(1)))
struct FormsPersonTests {
    enum Kind: String, CaseIterable { case scripted, chromium }

    private static let browser = Task { try await Chromium.start() }

    private static let catalogue = """
        {"format": "forms/1", "version": "1", "forms": [
            {"id": "review", "title": "How was it?", "triggers": [{"event": "delivered"}],
             "fields": [
                {"name": "email", "label": "E-mail", "type": "email", "required": true},
                {"name": "stars", "label": "Stars", "type": "number", "minimum": 1, "maximum": 5},
                {"name": "late", "label": "Too late", "type": "checkbox"},
                {"name": "door", "label": "Where", "type": "choice", "options": [
                    {"value": "d", "label": "At the door"}, {"value": "n", "label": "Neighbour"}]}],
             "buttons": [
                {"label": "Send", "style": "primary", "actions": [{"type": "submit"}]},
                {"label": "Help", "actions": [
                    {"type": "emit", "name": "asked", "properties": {"from": "review"}},
                    {"type": "deepLink", "url": "courier://help"}, {"type": "dismiss"}]}]},
            {"id": "thanks", "title": "Thanks", "triggers": [
                {"event": "asked", "where": {"property": "from", "is": "equals", "value": "review"}}]}]}
        """

    private func play(
        _ kind: Kind, _ body: (any FormsPerson, RepriseClient) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        var configuration = RepriseConfiguration(server: "http://memory")
        configuration.folder = folder.url
        configuration.dialer = MemoryServer()
        configuration.connectsAnonymously = true
        configuration.forms = Forms.Configuration()
        configuration.catalogue = CatalogueSource(catalogue: Self.catalogue)
        let person: any FormsPerson
        switch kind {
        case .scripted:
            let screen = ScriptedWebViews()
            configuration.webViews = screen
            person = screen
        case .chromium:
            let screen = ChromiumWebViews(
                address: try await Self.browser.value.address, app: "person",
                screen: .init(hasReducedMotion: true))
            configuration.webViews = screen
            person = screen
        }
        let client = RepriseClient(configuration)
        let running = Task { try await client.run() }
        try await client.recordEvent("delivered")
        #expect(try await person.texts().first == "How was it?")
        try await body(person, client)
        running.cancel()
        try await running.value
        await client.close()
    }

    @Test(
        "Answers that cannot be sent are named; good ones become a message",
        arguments: Kind.allCases)
    func answers(_ kind: Kind) async throws {
        try await play(kind) { person, client in
            try await person.type("ada", into: "E-mail")
            try await person.type("9", into: "Stars")
            try await person.click("Send")
            let texts = try await person.texts()
            #expect(
                texts.contains("Please enter an e-mail address, like ada@example.org."))
            #expect(texts.contains("Please enter at most 5."))
            try await person.type("ada@example.org", into: "E-mail")
            try await person.type("4", into: "Stars")
            try await person.click("Too late")
            try await person.click("Neighbour")
            try await person.click("Send")
            try await person.gone(within: .seconds(20))
            // Without it the list has what is not sent yet, and that is sent soon.
            let answers = client.channel("forms-answers", of: [String: AnyAnswer].self)
            try await answers.subscribe()
            for await page in answers.messages() {
                guard let json = page.first?.rawJSON else { continue }
                #expect(json.contains(#""email":"ada@example.org""#))
                #expect(json.contains(#""stars":4"#) && json.contains(#""late":true"#))
                #expect(json.contains(#""door":"n""#))
                break
            }
        }
    }

    @Test("The keyboard does it, too", arguments: Kind.allCases)
    func keyboard(_ kind: Kind) async throws {
        try await play(kind) { person, client in
            try await person.press("Tab", isShifted: false)  // Close
            try await person.press("Tab", isShifted: false)  // E-mail
            try await person.type("ada@example")
            try await person.type(".org")
            try await person.press("Enter", isShifted: false)
            try await person.gone(within: .seconds(20))
        }
    }

    @Test("A button's actions are done in their order, and lead on", arguments: Kind.allCases)
    func actions(_ kind: Kind) async throws {
        try await play(kind) { person, client in
            try await person.click("Help")
            for await link in try await client.forms.deepLinks {
                #expect(link.url == "courier://help")
                break
            }
            while try await person.texts().first != "Thanks" { await Task.yield() }
            try await person.press("Escape", isShifted: false)
            try await person.gone(within: .seconds(20))
        }
    }

    @Test("A missing element is an error that lists the existing ones", arguments: Kind.allCases)
    func absent(_ kind: Kind) async throws {
        try await play(kind) { person, _ in
            let error = await #expect(throws: RepriseError.self) {
                try await person.click("Buy")
            }
            #expect(error?.code == .noSuchEntry && error?.remedy?.contains("Send") == true)
            try await person.click("Close")
            try await person.gone(within: .seconds(20))
        }
    }

    @Test("A page that dies is replaced, and its event is not lost")
    func crash() async throws {
        try await play(.scripted) { person, client in
            let screen = try #require(person as? ScriptedWebViews)
            screen.crash()
            try await client.recordEvent("delivered")
            #expect(try await screen.form("review").title == "How was it?")
            #expect(screen.opened == 2)
        }
    }
}

private struct AnyAnswer: Codable, Sendable {}
