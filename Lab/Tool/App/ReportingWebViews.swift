import Foundation
import RepriseCore
import ReprisePhone

/// Web views that report the bridge's messages to the phone's log, and that crash at the scenario's
/// command.
actor ReportingWebViews: WebViewHost {
    private let webViews: ChromiumWebViews
    private let phone: PhoneApp
    /// When one has to die; nil: never, or it has.
    private var death: WebViewDeath?

    init(_ webViews: ChromiumWebViews, phone: PhoneApp, death: WebViewDeath?) {
        (self.webViews, self.phone, self.death) = (webViews, phone, death)
    }

    func open(_ page: HostedWebPage) async throws -> any HostedWebView {
        let view = try await webViews.openPage(page)
        await phone.report("webView")
        await die(.beforeHandshake, view)
        return ReportingWebView(view, phone: phone) { [weak self] in await self?.die($0, view) }
    }

    /// Kills the process of the page if this is the moment.
    private func die(_ moment: WebViewDeath, _ view: ChromiumWebView) async {
        guard death == moment else { return }
        death = nil
        await phone.report("webViewDies")
        await view.page.crash()
    }
}

/// A web view, with reports to the log.
private final class ReportingWebView: HostedWebView {
    let events: AsyncStream<WebViewEvent>
    private let view: ChromiumWebView
    private let phone: PhoneApp
    private let reached: @Sendable (WebViewDeath) async -> Void
    private let relay: Task<Void, Never>

    init(
        _ view: ChromiumWebView, phone: PhoneApp,
        _ reached: @escaping @Sendable (WebViewDeath) async -> Void
    ) {
        (self.view, self.phone, self.reached) = (view, phone, reached)
        let (events, continuation) = AsyncStream.makeStream(
            of: WebViewEvent.self, bufferingPolicy: .bufferingOldest(1_024))
        self.events = events
        relay = Task {
            for await event in view.events {
                let type = await Self.report(event, to: phone)
                continuation.yield(event)
                if type == "formsData" { await reached(.afterHandshake) }
            }
            continuation.finish()
        }
    }

    deinit { relay.cancel() }

    func send(_ message: [UInt8]) async throws {
        switch Self.object(message)?["type"] as? String {
        case "welcome":
            await reached(.inHandshake)
            await phone.report("handshake")
        case "events": await phone.report("event")
        case "granted": await reached(.afterGrant)
        default: break
        }
        try await view.send(message)
    }

    func setVisible(_ isVisible: Bool) async { await view.setVisible(isVisible) }
    func close() async { await view.close() }

    /// - Returns: the type of a message.
    private static func report(_ event: WebViewEvent, to phone: PhoneApp) async -> String? {
        guard case .message(let text) = event, let message = object(text),
            let type = message["type"] as? String
        else { return nil }
        switch type {
        case "formsData": await phone.report(type, message["version"] as? String ?? "")
        case "showing", "formWillAppear", "formDidAppear", "formDidDismiss":
            await phone.report(type, message["form"] as? String ?? "")
        case "fault": await phone.report(type, message["reason"] as? String ?? "")
        case "handled":
            for event in message["events"] as? [[String: Any]] ?? [] {
                await phone.report(type, event["result"] as? String ?? "")
            }
        default: break
        }
        return type
    }

    private static func object(_ text: [UInt8]) -> [String: Any]? {
        try? JSONSerialization.jsonObject(with: Data(text)) as? [String: Any]
    }
}
