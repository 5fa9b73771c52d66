import Foundation
import RepriseCore
import RepriseForms
import RepriseNIO
import ReprisePhone
import RepriseSimulator

/// The original app of `case-push-form`, before or after its repair, on the same system and with
/// the same page.
///
/// `BufferedForms` of the simulator decides: the original code, branch by branch. Where the case
/// study leaves something open, this favours the original: its SDK is initialized at once, its
/// forms are fetched again as soon as the network is back, a crashed web view is replaced, and in
/// the background it may run as long as the system lets it.
actor OriginalFormsApp {
    private let phone: PhoneApp
    private let server: String
    private let webViews: any WebViewHost
    private let version: BufferedForms.Version
    private var machine: BufferedForms
    /// The taps, by the number of their event.
    private var events: [(id: String, properties: Any)] = []
    private var view: (any HostedWebView)?
    private var hasFormsData = false

    init(
        _ version: BufferedForms.Version, phone: PhoneApp, server: String,
        _ webViews: any WebViewHost
    ) {
        (self.version, self.phone, self.server) = (version, phone, server)
        self.webViews = webViews
        machine = BufferedForms(version)
    }

    func run() async {
        await perform(machine.initialized())
        let taps = OriginalTaps(presents: [.banner, .list]) { [self] in await tapped($0) }
        // Until it is seen again, or shortly before its time is over.
        let life = OriginalLife { try? await Task.sleep(for: max(.zero, $0 - .seconds(1))) }
        async let pages: Void = showPages()
        if let response = phone.launch.response { await tapped(response) }
        await phone.run(life: life, notifications: taps)
        await pages
    }

    // MARK: Events

    /// `handle(notificationResponse:)`, which is `create(event: _openedPush)`.
    private func tapped(_ response: NotificationResponse) async {
        let info = response.notification.request.content.info
        let properties = try? JSONSerialization.jsonObject(with: Data(info))
        let event = events.count
        events.append((EntryID.random().text, properties ?? [String: Any]()))
        await phone.report("created", response.tapID.text)
        let actions = machine.eventCreated(event)
        if actions.isEmpty {
            await phone.report(version == .first ? "lost" : "buffered", "there is no web view")
        }
        await perform(actions)
    }

    private func perform(_ actions: [BufferedForms.Action]) async {
        for action in actions {
            switch action {
            case .dispatch(let event): await dispatch(events[event].id, events[event].properties)
            case .sleep(let duration):
                Task {
                    try? await Task.sleep(for: duration)
                    await self.perform(self.machine.sleepEnded(at: self.phone.timekeeper.uptime()))
                }
            }
        }
    }

    /// `evaluateJavaScript("dispatchProfileEvent…")`.
    private func dispatch(_ id: String, _ properties: Any) async {
        // The original page cannot evaluate an event without its forms and drops it; the page here
        // would keep it.
        guard hasFormsData else { return await phone.report("lost", "the page has no forms yet") }
        let now = phone.timekeeper.wall().milliseconds
        let event: [String: Any] = [
            "id": id, "name": "opened_push", "properties": properties, "at": now, "now": now,
            "attempt": 1,
        ]
        do { try await send("events", ["events": [event]]) } catch {
            await phone.report("lost", "the web view is dead")
        }
    }

    // MARK: The page

    private func showPages() async {
        while !Task.isCancelled {
            let page = FormsPage.page(session: EntryID.random().text)
            guard let view = try? await webViews.open(page) else { continue }
            self.view = view
            machine.webViewCreated()
            await hear(view)
            hasFormsData = false
            await view.close()
        }
    }

    private func hear(_ view: any HostedWebView) async {
        var fetching: Task<Void, Never>?
        defer { fetching?.cancel() }
        for await event in view.events {
            guard case .message(let text) = event,
                let message = try? JSONSerialization.jsonObject(with: Data(text)) as? [String: Any]
            else { return }
            switch message["type"] as? String {
            case "hello":
                await greet()
                fetching = Task { await fetch() }
                await perform(machine.handshakeCompleted(at: phone.timekeeper.uptime()))
            case "formsData":
                hasFormsData = true
                machine.formsDataLoaded()
            case "showing":
                var members = message
                members["showing"] = EntryID.random().text
                do { try await send("granted", members) } catch {
                    await phone.report("failed", "\(error)")
                }
            default: break
            }
        }
    }

    private func greet() async {
        let now = phone.timekeeper.wall().milliseconds
        try? await send("welcome", ["protocol": 1, "now": now, "locale": "en"])
    }

    /// "Fetch forms data from server": repeated whenever the network is on, until it
    /// succeeds.
    private func fetch() async {
        let transport = phone.transport(over: NIOTransport())
        for await path in phone.network.paths where path.isUsable {
            guard
                let answer = try? await transport.fetch(
                    HTTPCall(url: "\(server)/v1/forms"), limit: 1_048_576),
                let catalogue = try? JSONSerialization.jsonObject(with: Data(answer.body)),
                let version = (catalogue as? [String: Any])?["version"]
            else { continue }
            try? await send("catalogue", ["version": version, "catalogue": catalogue])
            return
        }
    }

    private func send(_ type: String, _ members: [String: Any]) async throws {
        var message = members
        message["type"] = type
        let bytes = Array(try JSONSerialization.data(withJSONObject: message))
        try await view?.send(bytes)
    }
}
