import Foundation
import Reprise
import RepriseCore
import RepriseForms

private struct Checkout: Codable, Sendable {
    var total: Int
}

private protocol CheckoutScreen: Sendable {
    var isOpen: Bool { get async }
}

extension ExamplesFixture {
    func forms(_ configuration: RepriseConfiguration) async throws {
        var configuration = configuration
        configuration.webViews = webViews  // WKWebViews()
        configuration.transport = transport
        configuration.forms = Forms.Configuration()
        configuration.forms?.events = [
            FormsEvent("opened_push", timeToLive: .seconds(3_600), then: .expire)
        ]
        let client = RepriseClient(configuration)

        // Durable when it returns.
        try await client.recordEvent("checkout", properties: Checkout(total: 12))

        Task { for await link in client.deepLinks { await router.open(link.url) } }
        try await client.run()
    }

    private func decide(
        _ configuration: RepriseConfiguration, _ checkout: any CheckoutScreen
    ) -> RepriseConfiguration {
        var configuration = configuration
        configuration.forms = Forms.Configuration()
        configuration.forms?.willAppear = { form in
            if await checkout.isOpen { return .later(.seconds(300)) }
            return form.event.name == "nag" ? .no("not in this version") : .show
        }
        return configuration
    }

    func theme(_ configuration: RepriseConfiguration) -> RepriseConfiguration {
        var configuration = configuration
        var theme = FormsTheme()
        theme.light[.accent] = "#00695c"
        theme.dark[.accent] = "#80cbc4"
        theme.dark[.onAccent] = "#00201c"
        theme.corner = 8
        configuration.forms?.theme = theme
        return configuration
    }

    func attributes(_ client: RepriseClient) async throws {
        try await client.forms.setAttributes(["plan": "vip", "age": 34, "trial": nil])
    }

    func spool(sharedFolder: URL) throws {
        try FormsSpool(at: sharedFolder).record(
            "push_shown", properties: #"{"campaign": "spring"}"#)
    }
}
