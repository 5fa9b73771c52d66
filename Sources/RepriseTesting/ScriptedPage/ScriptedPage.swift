import Foundation
import RepriseCore
import RepriseWire
import Synchronization

/// One life of the forms page without a browser: the runtime of `Web/forms.js`, as
/// `docs/forms/bridge.md` and `docs/forms.md` have it.
final class ScriptedPage: HostedWebView {
    let events: AsyncStream<WebViewEvent>
    private let continuation: AsyncStream<WebViewEvent>.Continuation
    private let clock: any Timekeeper
    private let state: Mutex<ScriptedRuntime>
    private let changed: @Sendable () -> Void

    init(_ page: HostedWebPage, clock: any Timekeeper, changed: @escaping @Sendable () -> Void) {
        let html = String(decoding: page.files["/"]?.bytes ?? [], as: UTF8.self)
        let session = html.firstMatch(of: /content="([0-9a-f]{32})"/).map { String($0.1) } ?? ""
        self.clock = clock
        self.changed = changed
        state = Mutex(ScriptedRuntime(session: session))
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1_024))
        act { $0.begin() }
    }

    deinit { continuation.finish() }

    // MARK: The host's side

    func send(_ message: [UInt8]) async throws {
        guard act({ $0.heard(message) }) else {
            throw RepriseError(.closed, "The page has gone.")
        }
    }

    func setVisible(_ isVisible: Bool) async {
        state.withLock { $0.isVisible = isVisible }
        changed()
    }

    func close() async {
        end()
        continuation.finish()
    }

    func crash() {
        end()
        continuation.yield(.terminated("The test has killed it."))
        continuation.finish()
    }

    private func end() {
        let timers = state.withLock { runtime in
            runtime.isOpen = false
            runtime.screen = nil
            return runtime.takeTimers()
        }
        for timer in timers { timer.cancel() }
        changed()
    }

    // MARK: The person's side

    var form: ScriptedForm? { state.withLock { $0.isVisible ? $0.shown : nil } }
    var isOpen: Bool { state.withLock { $0.isOpen } }

    /// - Returns: whether it found what it was told to do, and the labels that there are.
    func perform(_ body: (inout ScriptedScreen) -> ScriptedScreen.Effect?) -> (
        isDone: Bool, labels: [String]
    ) {
        var result = (isDone: false, labels: [String]())
        act { runtime in
            guard runtime.shown != nil, var view = runtime.screen?.view else { return }
            result.labels = view.labels
            guard let effect = body(&view) else { return }
            runtime.screen?.view = view
            result.isDone = true
            runtime.perform(effect)
        }
        return result
    }

    /// Lets the runtime act, and then sends what it has to say, in order.
    @discardableResult
    private func act(_ body: (inout ScriptedRuntime) -> Void) -> Bool {
        let isOpen = state.withLock { runtime in
            guard runtime.isOpen else { return false }
            runtime.uptime = clock.uptime()
            body(&runtime)
            runtime.flush()
            // Under the lock: another task's message must not overtake.
            for message in runtime.takeSaid() { continuation.yield(.message(message)) }
            for (due, id) in runtime.takeDelays() {
                runtime.timers[id] = Task { [weak self, clock] in
                    do { try await clock.sleep(until: due) } catch { return }
                    self?.act { $0.delayEnded(id) }
                }
            }
            return true
        }
        changed()
        return isOpen
    }
}
