import Foundation
package import RepriseCore
import Synchronization

/// A web view that is a tab of a Chromium, with the interface of a `WKWebView`.
package final class ChromiumWebView: HostedWebView {
    /// Messages of the page that may wait unread.
    static let maximumMessages = 1_024
    /// The largest message of the page.
    static let maximumMessageBytes = 1_048_576
    /// How long a page may take to load.
    package static let timeout = Duration.seconds(20)

    private static let binding = "__reprise"
    /// Turns the browser's binding into the message handler of a `WKWebView`, and removes the
    /// binding itself.
    private static let shim = """
        (() => {
          const say = globalThis.\(binding);
          delete globalThis.\(binding);
          if (window !== window.top || typeof say !== 'function') return;
          const reprise = Object.freeze({
            postMessage: (message) => say(typeof message === 'string' ? message : ''),
          });
          Object.defineProperty(window, 'webkit', {
            value: Object.freeze({ messageHandlers: Object.freeze({ reprise }) }),
          });
        })();
        """

    /// The page as observed from outside.
    package let page: ChromiumPage
    /// The page's messages and its end.
    package let events: AsyncStream<WebViewEvent>
    private let context: String
    private let sink: WebViewSink

    private init(page: ChromiumPage, context: String, sink: WebViewSink) {
        self.page = page
        self.context = context
        self.sink = sink
        events = sink.events
    }

    static func open(
        _ page: HostedWebPage, origin: String, screen: ChromiumWebViews.Screen,
        devTools: DevTools, within limit: Duration
    ) async throws -> ChromiumWebView {
        struct Context: Decodable { let browserContextId: String }
        struct Target: Decodable { let targetId: String }
        // It ends with its connection, and so with the process that opened it.
        let context = try await devTools.call(
            "Target.createBrowserContext", ["disposeOnDetach": true], as: Context.self
        ).browserContextId
        do {
            let target = try await devTools.call(
                "Target.createTarget",
                ["url": "about:blank", "browserContextId": .string(context)], as: Target.self
            ).targetId
            let sink = WebViewSink(files: PageFiles(page, origin: origin))
            let chromiumPage = try await ChromiumPage.attach(to: target, of: devTools, sink.heard)
            let view = ChromiumWebView(page: chromiumPage, context: context, sink: sink)
            try await view.prepare(screen)
            try await view.load(origin + "/", within: limit)
            return view
        } catch {
            _ = try? await devTools.call(
                "Target.disposeBrowserContext", ["browserContextId": .string(context)])
            throw error
        }
    }

    private func prepare(_ screen: ChromiumWebViews.Screen) async throws {
        try await page.show(on: screen)
        try await page.call("Emulation.setFocusEmulationEnabled", ["enabled": true])
        try await page.call("Page.setLifecycleEventsEnabled", ["enabled": true])
        try await page.call("Runtime.addBinding", ["name": .string(Self.binding)])
        try await page.call(
            "Page.addScriptToEvaluateOnNewDocument", ["source": .string(Self.shim)])
        try await page.call("Fetch.enable", ["patterns": [["urlPattern": "*"]]])
    }

    private func load(_ url: String, within limit: Duration) async throws {
        let answer = try await page.call(
            "Page.navigate", ["url": .string(url)], within: limit)
        if let text = answer["errorText"]?.text {
            throw RepriseError(.unavailable, "The page could not be loaded: \(text).")
        }
        guard let loader = answer["loaderId"]?.text else {
            throw RepriseError(.internal, "Chromium has not said what it loads.")
        }
        try await sink.loaded(loader, within: limit)
    }

    /// Calls `repriseReceive`; the message is an argument and never a part of a script.
    package func send(_ message: [UInt8]) async throws {
        guard let context = page.state.withLock({ $0.context }) else {
            throw RepriseError(.closed, "The page has gone.")
        }
        let answer: DevToolsValue
        do {
            answer = try await page.call(
                "Runtime.callFunctionOn",
                [
                    "functionDeclaration": "function (text) { globalThis.repriseReceive(text); }",
                    "executionContextId": .number(Double(context)), "returnByValue": true,
                    "arguments": [["value": .string(String(decoding: message, as: UTF8.self))]],
                ])
        } catch let error as RepriseError where error.code == .refused {
            // The context ended between the check and the call.
            throw RepriseError(.closed, "The page has gone.", cause: error)
        }
        if let thrown = answer["exceptionDetails"] { throw ChromiumPage.thrown(thrown) }
    }

    /// Whether it covers the app's own screen.
    package var isVisible: Bool { sink.isVisible }

    /// Shows or hides it over the app's own screen.
    package func setVisible(_ isVisible: Bool) async { sink.setVisible(isVisible) }

    /// Ends it.
    package func close() async {
        sink.finish()
        _ = try? await page.devTools.call(
            "Target.disposeBrowserContext", ["browserContextId": .string(context)])
    }
}

extension ChromiumPage {
    /// Makes the page believe to be on a screen.
    package func show(on screen: ChromiumWebViews.Screen) async throws {
        try await call(
            "Emulation.setDeviceMetricsOverride",
            [
                "width": .number(Double(screen.width)), "height": .number(Double(screen.height)),
                "deviceScaleFactor": .number(screen.scale), "mobile": true,
            ])
        try await call(
            "Emulation.setEmulatedMedia",
            [
                "features": [
                    [
                        "name": "prefers-color-scheme",
                        "value": screen.isDark ? "dark" : "light",
                    ],
                    [
                        "name": "prefers-reduced-motion",
                        "value": screen.hasReducedMotion ? "reduce" : "no-preference",
                    ],
                ]
            ])
        // A transparent background shows the app's own screen.
        try await call(
            "Emulation.setDefaultBackgroundColorOverride",
            ["color": ["r": 0, "g": 0, "b": 0, "a": 0]])
    }
}
