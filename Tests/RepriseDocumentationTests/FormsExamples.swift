import Foundation
import Reprise
import RepriseCore
import RepriseForms

extension ExamplesFixture {
    func forms() async throws {
        var configuration = AccountClient.Configuration()
        configuration.forms = Forms.Configuration()
        configuration.forms?.events = [
            FormsEvent("opened_push", timeToLive: .seconds(3_600), then: .expire)
        ]
        let reprise = try await AccountClient.open(
            at: folder, server: server, dialer: dialer, configuration: configuration)
        guard let forms = reprise.forms else { return }

        // Durable when it returns.
        try await forms.record("checkout", properties: #"{"total": 12}"#)

        Task { for await link in forms.deepLinks { await router.open(link.url) } }
        try await forms.run(
            webViews: webViews, catalogue: CatalogueSource(server: server, transport: transport))
    }

    func spool(sharedFolder: URL) throws {
        try FormsSpool(at: sharedFolder).record(
            "push_shown", properties: #"{"campaign": "spring"}"#)
    }
}

/// Who is told of taps.
struct FormsTaps {
    let forms: Forms

    func received(_ response: NotificationResponse) async {
        _ = try? await forms.received(response)  // then the system's completion handler is called
    }
}
