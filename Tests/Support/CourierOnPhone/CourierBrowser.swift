import RepriseCore
import ReprisePhone

/// The phone's browser, started for the first form, and the person before it.
actor CourierBrowser: WebViewHost {
    private let phone: PhoneApp
    private var tabs: ChromiumWebViews?

    init(phone: PhoneApp) { self.phone = phone }

    func open(_ page: HostedWebPage) async throws -> any HostedWebView {
        let view = try await screen().open(page)
        await phone.report("webView")
        return view
    }

    /// Waits for a form.
    ///
    /// - Returns: its title.
    func form() async throws -> String { try await screen().form().first ?? "" }

    /// Answers the review.
    func rate(_ stars: String) async throws {
        let screen = try await self.screen()
        try await screen.form()
        try await screen.type(stars, into: "Stars")
        try await screen.click("Send")
        try await screen.gone()
    }

    private func screen() async throws -> ChromiumWebViews {
        if let tabs { return tabs }
        let new = try await phone.webViews()
        // Another call may have been faster.
        let screen = tabs ?? new
        tabs = screen
        return screen
    }
}
