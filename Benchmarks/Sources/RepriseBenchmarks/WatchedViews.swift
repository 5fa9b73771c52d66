import Foundation
import Reprise

/// Web views that tell when what crossed the bridge: of the page's messages before the feature has
/// them, of the host's once the page has.
final class WatchedViews: WebViewHost {
    struct Crossing {
        var type: String
        var text: [UInt8]
        /// In nanoseconds.
        var at: Int64
    }

    let crossings: AsyncStream<Crossing>
    private let host: any WebViewHost
    private let noted: AsyncStream<Crossing>.Continuation

    init(_ host: any WebViewHost) {
        self.host = host
        (crossings, noted) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingNewest(100_000))
    }

    func open(_ page: HostedWebPage) async throws -> any HostedWebView {
        Watched(try await host.open(page), note)
    }

    @Sendable private func note(_ text: [UInt8]) {
        let at = MonotonicTime.now
        // Both sides write the type first.
        let start = Array(#"{"type":""#.utf8).count
        let type = text.dropFirst(start).prefix { $0 != UInt8(ascii: "\"") }
        noted.yield(Crossing(type: String(decoding: type, as: UTF8.self), text: text, at: at))
    }

    private final class Watched: HostedWebView {
        private let view: any HostedWebView
        private let note: @Sendable ([UInt8]) -> Void

        init(_ view: any HostedWebView, _ note: @escaping @Sendable ([UInt8]) -> Void) {
            (self.view, self.note) = (view, note)
        }

        var events: AsyncStream<WebViewEvent> {
            let note = note
            let mapped = view.events.map { event in
                if case .message(let text) = event { note(text) }
                return event
            }
            let (events, continuation) = AsyncStream<WebViewEvent>.makeStream(
                bufferingPolicy: .bufferingOldest(1_024))
            let task = Task {
                for await event in mapped { continuation.yield(event) }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
            return events
        }

        func send(_ message: [UInt8]) async throws {
            try await view.send(message)
            note(message)
        }

        func setVisible(_ isVisible: Bool) async { await view.setVisible(isVisible) }
        func close() async { await view.close() }
    }
}

/// A page that does nothing but answer: at once, or when two frames have been drawn.
enum BarePage {
    static let page = HostedWebPage(
        files: [
            "/": .init(
                type: "text/html; charset=utf-8",
                bytes: Array("<!doctype html><script src=\"/bare.js\"></script><p>bare".utf8)),
            "/bare.js": .init(
                type: "text/javascript; charset=utf-8",
                bytes: Array(
                    """
                    const say = (type) =>
                      window.webkit.messageHandlers.reprise.postMessage(JSON.stringify({ type }));
                    window.repriseReceive = (text) => {
                      const { type } = JSON.parse(text);
                      if (type === 'frames') {
                        document.querySelector('p').textContent = text.length;
                        requestAnimationFrame(() => requestAnimationFrame(() => say('drawn')));
                      } else {
                        say('echo');
                      }
                    };
                    say('ready');
                    """.utf8)),
        ], policy: "default-src 'none'; script-src 'self'")
}
