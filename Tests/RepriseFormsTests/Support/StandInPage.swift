import Foundation
import RepriseCore
import Synchronization

/// A web view whose page is played by a test: what it does is decided by what it is told.
final class StandInView: HostedWebView {
    /// How a page behaves.
    struct Manner: Sendable {
        var saysHello = true
        var protocols = [1]
        var takesCatalogue = true
        /// What it does with an event; nil: it says nothing.
        var answer: @Sendable (StandInView, [String: Any]) -> Void = { view, event in
            view.handled(event["id"], "noMatch")
        }
        /// What it does when it is granted a showing.
        var granted: @Sendable (StandInView, [String: Any]) -> Void = { view, message in
            view.say("formWillAppear", message)
            view.say("formDidAppear", message)
        }
        /// What it does when it is denied one; by itself nothing.
        var denied: @Sendable (StandInView, [String: Any]) -> Void = { _, _ in }
    }

    private struct State {
        var number = 0
        var told: [[String: Any]] = []
        var isVisible = false
        var isClosed = false
    }

    let events: AsyncStream<WebViewEvent>
    let session: String
    let manner: Manner
    private let continuation: AsyncStream<WebViewEvent>.Continuation
    private nonisolated(unsafe) var state = State()  // only under the lock
    private let lock = NSLock()

    init(_ page: HostedWebPage, _ manner: Manner) {
        let html = String(decoding: page.files["/"]?.bytes ?? [], as: UTF8.self)
        session = html.firstMatch(of: /content="([0-9a-f]{32})"/).map { String($0.1) } ?? ""
        self.manner = manner
        (events, continuation) = AsyncStream.makeStream()
        if manner.saysHello {
            say("hello", ["runtime": "1.0", "protocols": manner.protocols])
        }
    }

    /// What the host has said, of one type.
    func told(_ type: String) -> [[String: Any]] {
        lock.withLock { state.told.filter { $0["type"] as? String == type } }
    }

    var isVisible: Bool { lock.withLock { state.isVisible } }
    var isClosed: Bool { lock.withLock { state.isClosed } }

    /// Says something in its turn.
    func say(_ type: String, _ members: [String: Any] = [:]) {
        lock.withLock {
            state.number += 1
            raw(members.merging(["type": type, "session": session, "n": state.number]) { $1 })
        }
    }

    /// Says anything at all.
    func raw(_ message: [String: Any]) {
        let data = (try? JSONSerialization.data(withJSONObject: message)) ?? Data()
        continuation.yield(.message(Array(data)))
    }

    func raw(_ text: String) { continuation.yield(.message(Array(text.utf8))) }

    func handled(_ id: Any?, _ result: String, reason: String? = nil) {
        var event: [String: Any] = ["id": id ?? "", "result": result]
        if let reason { event["reason"] = reason }
        say("handled", ["events": [event]])
    }

    func crash() {
        continuation.yield(.terminated("The test has killed it."))
        continuation.finish()
    }

    func send(_ message: [UInt8]) async throws {
        guard let told = try JSONSerialization.jsonObject(with: Data(message)) as? [String: Any],
            let type = told["type"] as? String
        else { throw RepriseError(.malformed, "The host said no object.") }
        lock.withLock { state.told.append(told) }
        switch type {
        case "catalogue":
            if manner.takesCatalogue, let version = told["version"] as? String {
                say("formsData", ["version": version])
            }
        case "events":
            for event in told["events"] as? [[String: Any]] ?? [] { manner.answer(self, event) }
        case "granted": manner.granted(self, told)
        case "denied": manner.denied(self, told)
        default: break
        }
    }

    func setVisible(_ isVisible: Bool) async { lock.withLock { state.isVisible = isVisible } }

    func close() async {
        lock.withLock { state.isClosed = true }
        continuation.finish()
    }
}

/// Makes web views that behave as a test says: each life in its own manner, the last one from then
/// on.
final class StandInHost: WebViewHost {
    private let state: Mutex<(manners: [StandInView.Manner], views: [StandInView])>

    init(_ manners: StandInView.Manner...) {
        state = Mutex((manners.isEmpty ? [.init()] : manners, []))
    }

    var views: [StandInView] { state.withLock { $0.views } }

    func open(_ page: HostedWebPage) async throws -> any HostedWebView {
        state.withLock { state in
            let manner = state.manners[min(state.views.count, state.manners.count - 1)]
            let view = StandInView(page, manner)
            state.views.append(view)
            return view
        }
    }
}
