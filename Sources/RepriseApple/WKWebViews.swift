// Not run by the project's own tests, which run on Linux; compiled only with WebKit.
#if canImport(WebKit)
    import Foundation
    public import RepriseCore
    import WebKit

    /// Makes web views, `WKWebView`, over the app's own screen.
    ///
    /// ```swift
    /// try await forms.run(webViews: WKWebViews(), catalogue: catalogue)
    /// ```
    ///
    /// A web view is in the window from its beginning, transparent and ignoring events: the system
    /// suspends the page of a view outside of a window.
    public struct WKWebViews: WebViewHost {
        /// How long a page may take to load.
        public static let timeout = Duration.seconds(15)

        /// Makes them in the key window: of the scene in the foreground, or of the Mac's app.
        public init() {}

        /// Waits for a window, makes a web view and loads a page into it; returns when the page is
        /// loaded.
        ///
        /// - Parameter page: the page to load.
        /// - Returns: the web view.
        /// - Throws: ``RepriseCore/RepriseError`` `.unavailable`, also after a minute without a
        ///   window; `.timedOut` after ``timeout`` with one. `CancellationError` if the task was
        ///   cancelled.
        public func open(_ page: HostedWebPage) async throws -> any HostedWebView {
            let window = try await PageWindow.key()
            return try await SystemWebView.open(page, in: window)
        }
    }

    /// One web view with its page.
    final class SystemWebView: HostedWebView {
        let events: AsyncStream<WebViewEvent>
        private let holder: Holder

        private init(_ holder: Holder, _ events: AsyncStream<WebViewEvent>) {
            (self.holder, self.events) = (holder, events)
        }

        @MainActor static func open(_ page: HostedWebPage, in window: PageWindow) async throws
            -> SystemWebView
        {
            let (events, continuation) = AsyncStream.makeStream(
                of: WebViewEvent.self, bufferingPolicy: .bufferingOldest(1_024))
            let holder = Holder(page, in: window, continuation)
            do {
                try await withTimeout(WKWebViews.timeout, for: "Loading a page") {
                    try await holder.load()
                }
            } catch {
                holder.close()
                throw error
            }
            return SystemWebView(holder, events)
        }

        func send(_ message: [UInt8]) async throws {
            try await holder.send(String(decoding: message, as: UTF8.self))
        }

        func setVisible(_ isVisible: Bool) async { await holder.setVisible(isVisible) }
        func close() async { await holder.close() }
    }

    /// The part on the main actor: the view and its listener.
    @MainActor private final class Holder: NSObject, WKScriptMessageHandler, WKNavigationDelegate {
        private static let start = URL(string: "\(PageScheme.name)://forms/")

        private let view: PageView
        private let continuation: AsyncStream<WebViewEvent>.Continuation
        private var loading: CheckedContinuation<Void, any Error>?
        private let calls = PendingCalls()
        private var windowEnd: (any NSObjectProtocol)?
        private var isClosed = false

        init(
            _ page: HostedWebPage, in window: PageWindow,
            _ continuation: AsyncStream<WebViewEvent>.Continuation
        ) {
            let configuration = WKWebViewConfiguration()
            // No data of one page is left for the next.
            configuration.websiteDataStore = .nonPersistent()
            configuration.setURLSchemeHandler(PageScheme(page), forURLScheme: PageScheme.name)
            view = PageView(frame: window.room, configuration: configuration)
            self.continuation = continuation
            super.init()
            configuration.userContentController.add(self, name: "reprise")
            view.navigationDelegate = self
            view.setVisible(false)
            window.put(view)
            // The page goes on without its window, and would show its form for ever.
            let (name, poster) = window.end
            windowEnd = NotificationCenter.default.addObserver(
                forName: name, object: poster, queue: .main
            ) { [weak self] _ in
                MainActor.assumeIsolated {
                    if let self { self.terminated("The window has gone.") }
                }
            }
        }

        func load() async throws {
            guard let start = Self.start else {
                throw RepriseError(.internal, "The page has no address.")
            }
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation {
                    (continuation: CheckedContinuation<Void, any Error>) in
                    loading = continuation
                    guard !Task.isCancelled else { return loaded(.failure(CancellationError())) }
                    view.load(URLRequest(url: start))
                }
            } onCancel: {
                Task { @MainActor in loaded(.failure(CancellationError())) }
            }
        }

        private func loaded(_ result: Result<Void, any Error>) {
            loading?.resume(with: result)
            loading = nil
        }

        /// The message is an argument and never part of a script.
        func send(_ text: String) async throws {
            do {
                try await calls.wait { (call: Race<Void>) in
                    view.callAsyncJavaScript(
                        "globalThis.repriseReceive(text); return true;", arguments: ["text": text],
                        in: nil, in: .page
                    ) { result in call.end(result.map { _ in }) }
                }
            } catch let error as WKError where error.code == .javaScriptExceptionOccurred {
                throw RepriseError(.malformed, "The page has thrown.", cause: error)
            } catch {
                throw RepriseError(.closed, "The page has gone.", cause: error)
            }
        }

        func setVisible(_ isVisible: Bool) { view.setVisible(isVisible) }

        func close() {
            guard !isClosed else { return }
            isClosed = true
            let error = RepriseError(.closed, "The web view was closed.")
            loaded(.failure(error))
            // A page that hangs answers no call, and one that waits keeps the view and its process.
            calls.end(error)
            continuation.finish()
            if let windowEnd { NotificationCenter.default.removeObserver(windowEnd) }
            // The controller retains its listener.
            view.configuration.userContentController.removeAllScriptMessageHandlers()
            view.navigationDelegate = nil
            view.stopLoading()
            view.removeFromSuperview()
        }

        private func terminated(_ reason: String) {
            loaded(.failure(RepriseError(.unavailable, reason)))
            continuation.yield(.terminated(reason))
            close()
        }

        // MARK: WKScriptMessageHandler

        func userContentController(
            _ userContentController: WKUserContentController, didReceive message: WKScriptMessage
        ) {
            guard message.frameInfo.isMainFrame,
                message.frameInfo.securityOrigin.protocol == PageScheme.name,
                let text = message.body as? String
            else { return }
            if case .dropped = continuation.yield(.message(Array(text.utf8))) {
                terminated("The page says more than is read.")
            }
        }

        // MARK: WKNavigationDelegate

        func webView(
            _ webView: WKWebView, decidePolicyFor navigationAction: WKNavigationAction,
            decisionHandler: @escaping @MainActor @Sendable (WKNavigationActionPolicy) -> Void
        ) {
            // It navigates only to its own page: deep links go through the bridge.
            decisionHandler(navigationAction.request.url == Self.start ? .allow : .cancel)
        }

        func webView(_ webView: WKWebView, didFinish navigation: WKNavigation!) {
            loaded(.success(()))
        }

        func webView(
            _ webView: WKWebView, didFail navigation: WKNavigation!, withError error: any Error
        ) {
            terminated("The page could not be loaded: \(error.localizedDescription)")
        }

        func webView(
            _ webView: WKWebView, didFailProvisionalNavigation navigation: WKNavigation!,
            withError error: any Error
        ) {
            terminated("The page could not be loaded: \(error.localizedDescription)")
        }

        func webViewWebContentProcessDidTerminate(_ webView: WKWebView) {
            terminated("The page's process has ended.")
        }
    }
#endif
