public import RepriseCore

/// The web views of one app on the phone, in a Chromium that may belong to another process.
///
/// ```swift
/// let webViews = ChromiumWebViews(address: chromium.address, app: "shop")
/// let view = try await webViews.open(page)
/// ```
///
/// Each is a tab in a browser context of its own: it shares no storage with another. They vanish
/// with the connection, and so with the app's process.
public actor ChromiumWebViews: WebViewHost {
    /// The screen that a page believes to be on.
    public struct Screen: Hashable, Sendable {
        /// In points.
        public var width: Int
        /// In points.
        public var height: Int
        /// Pixels a point.
        public var scale: Double
        /// Whether dark colours are preferred.
        public var isDark: Bool
        /// Whether reduced motion is preferred.
        public var hasReducedMotion: Bool

        /// Makes a screen; without arguments a phone of ordinary size.
        public init(
            width: Int = 390, height: Int = 844, scale: Double = 2, isDark: Bool = false,
            hasReducedMotion: Bool = false
        ) {
            self.width = width
            self.height = height
            self.scale = scale
            self.isDark = isDark
            self.hasReducedMotion = hasReducedMotion
        }
    }

    private let address: String
    private let app: String
    private let screen: Screen
    private let window: @Sendable () async throws -> Void
    private var connecting: Task<DevTools, any Error>?
    /// What was opened last, while the app has it.
    private(set) weak var newest: ChromiumWebView?

    /// Makes a host of web views; it connects when the first is opened.
    ///
    /// - Parameters:
    ///   - address: of ``Chromium/address``.
    ///   - app: their owner: letters, digits and hyphens, at most 63, as in a host name.
    ///   - screen: the screen that pages see.
    public init(address: String, app: String = "app", screen: Screen = Screen()) {
        self.init(address: address, app: app, screen: screen, window: {})
    }

    /// The same in a window: a tab is opened once `window` has returned.
    package init(
        address: String, app: String, screen: Screen,
        window: @escaping @Sendable () async throws -> Void
    ) {
        self.address = address
        self.app = app
        self.screen = screen
        self.window = window
    }

    /// Opens a tab and loads the page into it.
    public func open(_ page: HostedWebPage) async throws -> any HostedWebView {
        try await openPage(page)
    }

    /// The same with the page, for an outside observer.
    package func openPage(
        _ page: HostedWebPage, within limit: Duration = ChromiumWebView.timeout
    ) async throws -> ChromiumWebView {
        try await window()
        let view = try await ChromiumWebView.open(
            page, origin: Self.origin(app), screen: screen, devTools: connection(), within: limit)
        newest = view
        return view
    }

    /// Ends all of them with the connection.
    public func close() async {
        let connecting = self.connecting
        self.connecting = nil
        await (try? connecting?.value)?.close()
    }

    /// The origin of an app's pages: a name that no network has (RFC 6761 §6.4).
    static func origin(_ app: String) -> String { "https://\(app.lowercased()).forms.invalid" }

    private func connection() async throws -> DevTools {
        if let connecting, let devTools = try? await connecting.value, !devTools.isClosed {
            return devTools
        }
        let address = self.address
        let task = Task { try await DevTools.connect(to: address) }
        connecting = task
        return try await task.value
    }
}
