import Foundation
import RepriseCore
import ReprisePhone
import RepriseTestSupport
import RepriseTesting
import Testing

/// The web view's port on a real browser.
@Suite("Chromium", .serialized)
struct ChromiumTests {
    private static let browser = Task { try await Chromium.start() }

    private static func page(_ script: String, _ more: [String: String] = [:]) -> HostedWebPage {
        var files = [
            "/": HostedWebPage.File(
                type: "text/html",
                bytes: Array((viewport + "<body><script src=/page.js></script>").utf8)),
            "/page.js": HostedWebPage.File(type: "text/javascript", bytes: Array(script.utf8)),
        ]
        for (path, text) in more { files[path] = .init(type: "text/html", bytes: Array(text.utf8)) }
        return HostedWebPage(
            files: files, policy: "default-src 'none'; script-src 'self'; frame-src 'self'")
    }

    private static let viewport =
        "<!doctype html><meta name=viewport content='width=device-width, initial-scale=1'>"
    private static let echo = """
        const say = (text) => window.webkit.messageHandlers.reprise.postMessage(text);
        window.repriseReceive = (text) => { if (text === 'throw') throw new Error('no'); say(text); };
        """

    private func open(
        _ page: HostedWebPage, app: String = "tests"
    ) async throws -> (ChromiumWebViews, ChromiumWebView) {
        let webViews = ChromiumWebViews(
            address: try await Self.browser.value.address, app: app)
        return (webViews, try await webViews.openPage(page))
    }

    private func next(_ view: ChromiumWebView) async -> WebViewEvent? {
        for await event in view.events { return event }
        return nil
    }

    @Test("sent texts arrive whole and in order, whatever they hold")
    func echo() async throws {
        let (webViews, view) = try await open(Self.page(Self.echo))
        let texts = [
            "a", "", "'); alert(1); ('", "\u{2028}\u{2029}\0\\\"`${1}</script>", "é😀",
            String(repeating: "x", count: 1_000_000),
        ]
        for text in texts { try await view.send(Array(text.utf8)) }
        var heard: [WebViewEvent] = []
        for await event in view.events {
            heard.append(event)
            if heard.count == texts.count { break }
        }
        #expect(heard == texts.map { .message(Array($0.utf8)) })
        await webViews.close()
    }

    @Test(
        "a page that throws is malformed, one without the function too, one that has gone is closed"
    )
    func failures() async throws {
        let (webViews, view) = try await open(Self.page(Self.echo))
        await expectError(.malformed) {
            try await view.send(Array("throw".utf8))
        }
        await view.close()
        await expectError(.closed) { try await view.send([0x61]) }
        let empty = try await webViews.openPage(Self.page(""))
        await expectError(.malformed) { try await empty.send([0x61]) }
        await webViews.close()
        await expectError(.closed) { try await empty.send([0x61]) }
    }

    @Test("a page whose process dies is terminated, and its waiting callers are notified at once")
    func crash() async throws {
        let (webViews, view) = try await open(Self.page("window.repriseReceive = () => {};"))
        async let waiting: Void = {
            await expectError(.closed) {
                try await view.page.evaluate("new Promise(() => {})")
            }
        }()
        await view.page.crash()
        #expect(await next(view) == .terminated("The page's process died."))
        await waiting
        await expectError(.closed) { try await view.send([0x61]) }
        // Another opens after it.
        let other = try await webViews.openPage(Self.page(Self.echo))
        try await other.send([0x61])
        #expect(await next(other) == .message([0x61]))
        await webViews.close()
    }

    @Test(
        "a page that says more than is read is terminated, and so is one that says too much at once",
        .limit("chromium.messages")
    )
    func bounds() async throws {
        for script in [
            "for (let n = 0; n < 1100; n += 1) say(String(n));", "say('x'.repeat(1048577));",
        ] {
            let (webViews, view) = try await open(Self.page(Self.echo))
            _ = try? await view.page.evaluate(script)
            var events: [WebViewEvent] = []
            for await event in view.events { events.append(event) }
            guard case .terminated = events.last else {
                Issue.record("\(events.count) events and no end")
                continue
            }
            #expect(events.count <= 1_026)
            await webViews.close()
        }
    }

    @Test(
        "a page that never loads, a call that is not answered, one call too many and too large an answer are typed errors",
        .limit("chromium.devTools")
    )
    func timeout() async throws {
        let address = try await Self.browser.value.address
        let webViews = ChromiumWebViews(address: address, app: "tests")
        let hanging = Self.page("for (;;) {}")
        await expectError(.timedOut) {
            try await webViews.openPage(hanging, within: .milliseconds(500))
        }
        let view = try await webViews.openPage(Self.page(Self.echo))
        let never: DevToolsValue = ["expression": "new Promise(() => {})", "awaitPromise": true]
        await expectError(.timedOut) {
            try await view.page.call("Runtime.evaluate", never, within: .milliseconds(200))
        }
        let refused = await withTaskGroup(of: RepriseError.Code?.self) { group in
            for _ in 0..<1_026 {
                group.addTask {
                    do {
                        try await view.page.call("Runtime.evaluate", never, within: .seconds(5))
                        return nil
                    } catch { return (error as? RepriseError)?.code }
                }
            }
            var counts: [RepriseError.Code: Int] = [:]
            for await code in group { if let code { counts[code, default: 0] += 1 } }
            return counts
        }
        #expect(refused == [RepriseError.Code.full: 2, RepriseError.Code.timedOut: 1_024])
        await expectError(.closed) {
            try await view.page.evaluate("'x'.repeat(67108864)")
        }
        await webViews.close()
    }

    @Test(
        "a browser that says nothing at its start is ended, and one that ends is unavailable",
        .limit("chromium.start"))
    func start() async throws {
        let folder = try TemporaryFolder()
        let program = folder.appending("browser")
        for (script, code, limit) in [
            ("sleep 60", .timedOut, .milliseconds(500)),
            ("exit 0", .unavailable, .seconds(20)),
        ] as [(String, RepriseError.Code, Duration)] {
            try Data("#!/bin/sh\n\(script)\n".utf8).write(to: program)
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755], ofItemAtPath: program.path)
            await expectError(code) {
                try await Chromium.start(executable: program.path, within: limit)
            }
        }
    }

    @Test("a frame within the page has no voice, and the browser's own binding is not to be found")
    func frames() async throws {
        let script =
            Self.echo + """
                const frame = document.createElement('iframe');
                frame.onload = () => {
                  const inner = frame.contentWindow;
                  const found = [window.__reprise, inner.__reprise, inner.webkit].map((each) => typeof each).join();
                  say(found);
                };
                frame.src = '/frame.html';
                document.body.append(frame);
                """
        let frame = "<!doctype html><script src=/page.js></script>"
        let (webViews, view) = try await open(Self.page(script, ["/frame.html": frame]))
        #expect(await next(view) == .message(Array("undefined,undefined,undefined".utf8)))
        await webViews.close()
    }

    @Test("a page cannot navigate away, and makes no request to another server")
    func staying() async throws {
        let (webViews, view) = try await open(Self.page(Self.echo))
        try await view.page.evaluate("location.href = 'https://example.org/'; 0")
        try await view.send([0x61])
        #expect(await next(view) == .message([0x61]))
        #expect(
            try await view.page.evaluate("location.href") == "https://tests.forms.invalid/")
        await webViews.close()
    }

    @Test("two apps share nothing, and each page is found by its app's name from outside")
    func apps() async throws {
        let address = try await Self.browser.value.address
        let (one, first) = try await open(Self.page(Self.echo), app: "one")
        let (two, second) = try await open(Self.page(Self.echo), app: "two")
        try await first.page.evaluate("localStorage.setItem('secret', 'x')")
        #expect(try await second.page.evaluate("localStorage.getItem('secret')") == .null)
        let found = try #require(try await ChromiumPage.find(app: "two", at: address))
        #expect(try await found.evaluate("location.host") == "two.forms.invalid")
        await found.letGo()
        await two.close()
        // With its connection an app's pages have gone.
        try await eventually("its pages are gone") {
            try await ChromiumPage.find(app: "two", at: address) == nil
        }
        await one.close()
    }

    @Test("it believes to be a phone: 390 points wide at two pixels each, light or dark")
    func screen() async throws {
        let webViews = ChromiumWebViews(
            address: try await Self.browser.value.address,
            screen: .init(isDark: true, hasReducedMotion: true))
        let view = try await webViews.openPage(Self.page(Self.echo))
        let seen = try await view.page.evaluate(
            "[innerWidth, innerHeight, devicePixelRatio, matchMedia('(prefers-color-scheme: dark)').matches,"
                + "matchMedia('(prefers-reduced-motion: reduce)').matches, document.visibilityState].join()"
        )
        #expect(seen == "390,844,2,true,true,visible")
        let png = try await view.page.screenshot()
        #expect(png.starts(with: [0x89, 0x50, 0x4e, 0x47]))
        await webViews.close()
    }

    @Test(
        "a browser whose owner forgets it ends with all its processes, and takes its profile along")
    func ending() async throws {
        var chromium: Chromium? = try await Chromium.start()
        let group = try #require(chromium?.group)
        let profile = try #require(chromium?.profile.path)
        #expect(FileManager.default.fileExists(atPath: profile))
        chromium = nil
        try await eventually("its processes live") { kill(-group, 0) != 0 }
        #expect(!FileManager.default.fileExists(atPath: profile))
    }

    @Test(
        "without a browser, or with one that ends at once, there is an error that says so",
        arguments: ["/nowhere/chromium", "/bin/false"])
    func missing(executable: String) async throws {
        await expectError(.unavailable) {
            try await Chromium.start(executable: executable)
        }
    }
}
