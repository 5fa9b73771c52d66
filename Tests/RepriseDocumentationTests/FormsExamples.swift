import Foundation
import Reprise
import RepriseCore
import RepriseForms

private struct Checkout: Codable, Sendable {
    var total: Int
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

    func spool(sharedFolder: URL) throws {
        try FormsSpool(at: sharedFolder).record(
            "push_shown", properties: #"{"campaign": "spring"}"#)
    }
}
