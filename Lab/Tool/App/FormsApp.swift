import Reprise
import RepriseCore
import RepriseForms
import RepriseNIO
import ReprisePhone

/// An app as an engineer writes it with Reprise; beside that it reports what it does to the phone's
/// log.
struct FormsApp: Sendable {
    /// How long a tap is worth a form.
    static let timeToLive = Duration.seconds(3_600)

    let phone: PhoneApp
    let server: String
    /// An earlier version, which had no rules for what it recorded.
    let isOlder: Bool
    /// Whether a form that may have been seen is not shown again.
    let isNever: Bool

    func run(_ webViews: any WebViewHost) async throws {
        let reprise = try await AccountClient.open(
            at: phone.folder, server: server, dialer: phone.dialer(over: NIODialer()),
            configuration: configuration)
        await phone.report("journal")
        guard let forms = reprise.forms else { return }
        let taps = RecordedTaps(phone: phone) { try await forms.received($0) }
        if let response = phone.launch.response { await taps.received(response) }
        let catalogue = CatalogueSource(
            server: server, transport: phone.transport(over: NIOTransport()))
        try await untilOneEnds(
            { try await forms.run(webViews: webViews, catalogue: catalogue) },
            { try await reprise.run() },
            // Reconnects at once when the network is back.
            { for await path in phone.network.paths where path.isUsable { forms.refresh() } },
            { for await link in forms.deepLinks { await phone.report("deepLink", link.url) } },
            { await phone.run(life: reprise, notifications: taps) })
    }

    private var configuration: AccountClient.Configuration {
        var forms = Forms.Configuration()
        forms.timekeeper = phone.timekeeper
        if !isOlder {
            forms.events = [
                FormsEvent(
                    "opened_push", timeToLive: Self.timeToLive,
                    onInterruption: isNever ? .never : .again)
            ]
        }
        var configuration = AccountClient.Configuration()
        configuration.forms = forms
        configuration.journal.timekeeper = phone.timekeeper
        return configuration
    }
}
