import RepriseCore
import Synchronization

/// Web views that behave as those of a ``StandInHost``; told to, they take nothing until they are
/// let go.
final class StuckHost: WebViewHost {
    /// Where they get stuck.
    enum Place { case sending, showing, closing }

    private struct State {
        /// Ends when they are let go; nil: they are not stuck.
        var gate: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)?
        var waiting = 0
        var asked = 0
        weak var reader: Reader?
    }

    /// Lives as long as somebody reads what the page says.
    fileprivate final class Reader: Sendable {}

    private let host: StandInHost
    private let place: Place
    private let state = Mutex(State())

    init(_ host: StandInHost, at place: Place) {
        self.host = host
        self.place = place
    }

    /// How many calls have got stuck since they were told to.
    var waiting: Int { state.withLock { $0.waiting } }
    /// How often the newest page was asked what it says: once more than it was answered.
    var asked: Int { state.withLock { $0.asked } }
    /// Whether anybody reads what the newest page says.
    var isRead: Bool { state.withLock { $0.reader != nil } }

    func stick() {
        state.withLock { state in
            state.gate = AsyncStream<Void>.makeStream()
            state.waiting = 0
        }
    }

    func letGo() {
        let gate = state.withLock { state in
            defer { state.gate = nil }
            return state.gate
        }
        gate?.continuation.finish()
    }

    func open(_ page: HostedWebPage) async throws -> any HostedWebView {
        StuckView(view: try await host.open(page), host: self)
    }

    fileprivate func pass(_ place: Place) async {
        let gate: AsyncStream<Void>? = state.withLock { state in
            guard place == self.place, let gate = state.gate else { return nil }
            state.waiting += 1
            return gate.stream
        }
        guard let gate else { return }
        // Whatever becomes of the task that waits.
        await Task { for await _ in gate {} }.value
    }

    fileprivate func reads() -> Reader {
        let reader = Reader()
        state.withLock { state in
            state.asked = 0
            state.reader = reader
        }
        return reader
    }

    fileprivate func asks(_ reader: Reader) { state.withLock { $0.asked += 1 } }
}

private struct StuckView: HostedWebView {
    let view: any HostedWebView
    let host: StuckHost

    var events: AsyncStream<WebViewEvent> {
        let (view, host, reader) = (view, host, host.reads())
        return AsyncStream {
            host.asks(reader)
            var events = view.events.makeAsyncIterator()
            return await events.next()
        }
    }

    func send(_ message: [UInt8]) async throws {
        await host.pass(.sending)
        try await view.send(message)
    }

    func setVisible(_ isVisible: Bool) async {
        await host.pass(.showing)
        await view.setVisible(isVisible)
    }

    func close() async {
        await host.pass(.closing)
        await view.close()
    }
}
