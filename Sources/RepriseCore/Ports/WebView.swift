/// Makes web views: `WKWebView` on Apple systems, headless Chromium on the phone.
public protocol WebViewHost: Sendable {
    /// Makes a web view and loads a page into it; returns when the page is loaded.
    ///
    /// - Parameter page: the page to load.
    /// - Returns: the web view, which lives until ``HostedWebView/close()``.
    /// - Throws: ``RepriseError`` `.unavailable`, `.timedOut`.
    func open(_ page: HostedWebPage) async throws -> any HostedWebView
}

/// A page that the app itself serves, as `WKURLSchemeHandler` does: nothing comes over the network.
/// (`WebPage` and `WebView` are Apple's names since iOS 26.)
public struct HostedWebPage: Hashable, Sendable {
    /// One file of a page.
    public struct File: Hashable, Sendable {
        /// The media type, as in `text/html; charset=utf-8`.
        public var type: String
        /// The content.
        public var bytes: [UInt8]

        /// Makes a file.
        public init(type: String, bytes: [UInt8]) {
            self.type = type
            self.bytes = bytes
        }
    }

    /// The files by their paths, as in `/index.html`; the page begins with `/`.
    public var files: [String: File]
    /// The content security policy of every file.
    public var policy: String

    /// Makes a page.
    public init(files: [String: File], policy: String) {
        self.files = files
        self.policy = policy
    }
}

/// A web view with one page in it.
public protocol HostedWebView: Sendable {
    /// Calls the page's function `repriseReceive(text)`
    /// (`callAsyncJavaScript(_:arguments:in:in:)`); returns when it has returned.
    ///
    /// - Parameter message: JSON as UTF-8, at most 4 MiB.
    /// - Throws: ``RepriseError`` `.closed` if the page is gone, `.timedOut` after 10 seconds,
    ///   `.malformed` if the page has thrown.
    func send(_ message: [UInt8]) async throws

    /// The page's messages and the end of its process, in order; read by one task.
    ///
    /// The page sends by `window.webkit.messageHandlers.reprise.postMessage(text)`
    /// (`WKScriptMessageHandler`). At most 1,024 wait unread; a page that sends more is treated as
    /// ``WebViewEvent/terminated(_:)``.
    var events: AsyncStream<WebViewEvent> { get }

    /// Shows or hides it over the app's own screen.
    func setVisible(_ isVisible: Bool) async

    /// Ends it. A second call does nothing.
    func close() async
}

/// A message of the page, or the end of its process.
public enum WebViewEvent: Hashable, Sendable {
    /// The page sent a message: UTF-8, at most 1 MiB. Messages of a frame within the page, or of
    /// another page, are ignored.
    case message([UInt8])
    /// The page's process died, or the web view is gone (`webViewWebContentProcessDidTerminate`):
    /// the reason, for people.
    case terminated(String)
}
