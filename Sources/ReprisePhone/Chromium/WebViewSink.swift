import RepriseCore
import Synchronization

/// Routes a page's events: requests to its files, messages to the app, its end to waiting calls.
final class WebViewSink: Sendable {
    private struct State {
        var isVisible = false
        /// The newest document that has been loaded whole.
        var loaded: String?
        var isOver = false
        var loading: (loader: String, waiter: CheckedContinuation<Void, any Error>)?
    }

    let events: AsyncStream<WebViewEvent>
    private let files: PageFiles
    private let output: AsyncStream<WebViewEvent>.Continuation
    private let state = Mutex(State())

    init(files: PageFiles) {
        self.files = files
        // One more for the message that is too many, and one for the end.
        (events, output) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(ChromiumWebView.maximumMessages + 2))
    }

    var isVisible: Bool { state.withLock { $0.isVisible } }
    func setVisible(_ isVisible: Bool) { state.withLock { $0.isVisible = isVisible } }

    /// Takes an event of the page's session; called in order.
    @Sendable
    func heard(_ page: ChromiumPage, _ event: DevTools.Event) {
        switch event.method {
        case "Fetch.requestPaused":
            guard let request = event.parameters(as: PageFiles.Request.self) else { return }
            let answer = files.answer(request)
            Task { try? await page.call(answer.method, answer.parameters) }
        case "Page.lifecycleEvent":
            struct Step: Decodable { let frameId, loaderId, name: String }
            guard let step = event.parameters(as: Step.self), step.name == "load",
                step.frameId == page.target
            else { return }
            loaded(step.loaderId)
        case "Runtime.bindingCalled": said(page, event)
        case "Inspector.targetCrashed": terminate("The page's process died.")
        case "Inspector.detached", "closed": terminate("The browser has gone.")
        default: break
        }
    }

    private func said(_ page: ChromiumPage, _ event: DevTools.Event) {
        struct Said: Decodable {
            let payload: String
            let executionContextId: Int
        }
        // A frame within the page, or a world beside its own, is not the page.
        guard let said = event.parameters(as: Said.self),
            said.executionContextId == page.state.withLock({ $0.context })
        else { return }
        guard said.payload.utf8.count <= ChromiumWebView.maximumMessageBytes else {
            return terminate("The page said more than 1 MiB at once.")
        }
        guard case .enqueued(let remaining) = output.yield(.message(Array(said.payload.utf8)))
        else { return }
        if remaining < 2 { terminate("The page says more than is read.") }
    }

    private func terminate(_ reason: String) {
        let isFirst = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        guard isFirst else { return }
        loadFailed(RepriseError(.unavailable, reason))
        output.yield(.terminated(reason))
        output.finish()
    }

    /// The app itself ends it: no event is needed.
    func finish() {
        state.withLock { $0.isOver = true }
        output.finish()
    }

    // MARK: Loading

    /// Waits until a document has been loaded; the former one (an empty page) has another id.
    func loaded(_ loader: String, within limit: Duration) async throws {
        let deadline = Task {
            try await Task.sleep(for: limit)
            loadFailed(RepriseError(.timedOut, "The page did not load within \(limit)."))
        }
        defer { deadline.cancel() }
        try await withCheckedThrowingContinuation {
            (waiter: CheckedContinuation<Void, any Error>) in
            let answer: Result<Void, any Error>? = state.withLock { state in
                if state.loaded == loader { return .success(()) }
                if state.isOver { return .failure(Self.gone) }
                state.loading = (loader, waiter)
                return nil
            }
            if let answer { waiter.resume(with: answer) }
        }
    }

    private func loaded(_ loader: String) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            state.loaded = loader
            guard state.loading?.loader == loader else { return nil }
            defer { state.loading = nil }
            return state.loading?.waiter
        }
        waiter?.resume()
    }

    private func loadFailed(_ error: any Error) {
        let waiter = state.withLock { state in
            defer { state.loading = nil }
            return state.loading?.waiter
        }
        waiter?.resume(throwing: error)
    }

    private static let gone = RepriseError(.unavailable, "The page has gone.")
}
