import Foundation
import RepriseCore
import RepriseNIO
import Synchronization

/// A client of a browser's DevTools protocol: calls with answers, and events by session.
///
/// ```swift
/// let devTools = try await DevTools.connect(to: chromium.address)
/// let target = try await devTools.call("Target.createTarget", ["url": "about:blank"])
/// ```
package final class DevTools: Sendable {
    /// An event of one session.
    struct Event {
        let method: String
        private let bytes: [UInt8]

        init(method: String, bytes: [UInt8]) {
            self.method = method
            self.bytes = bytes
        }

        /// Its parameters; nil if they cannot be decoded.
        func parameters<T: Decodable>(as type: T.Type) -> T? {
            try? JSONDecoder().decode(Parameters<T>.self, from: Data(bytes)).params
        }
    }

    private struct Call {
        let session: String?
        let answer: CheckedContinuation<[UInt8], any Error>
    }

    private struct State {
        var lastID = 0
        var calls: [Int: Call] = [:]
        var handlers: [String: @Sendable (Event) -> Void] = [:]
        var isClosed = false
    }

    /// The fields that route a message.
    private struct Header: Decodable {
        struct Failure: Decodable { let message: String }
        let id: Int?
        let method: String?
        let sessionId: String?
        let error: Failure?
    }

    private struct Request: Encodable {
        let id: Int
        let method: String
        let params: DevToolsValue
        let sessionId: String?
    }

    private struct Parameters<T: Decodable>: Decodable { let params: T }
    private struct Answer<Result: Decodable>: Decodable { let result: Result }

    /// Calls without an answer at a time.
    static let maximumCalls = 1_024
    /// The timeout of a call.
    package static let timeout = Duration.seconds(10)
    /// The largest accepted message: a screenshot in Base64 is the largest.
    static let maximumMessageBytes = 67_108_864

    private let socket: any Socket
    private let state = Mutex(State())

    private init(socket: any Socket) { self.socket = socket }

    /// Connects to a browser.
    ///
    /// - Parameter address: of ``Chromium/address``.
    /// - Returns: the connection, open until ``close()``.
    /// - Throws: ``RepriseCore/RepriseError`` as of ``RepriseNIO/NIODialer``.
    package static func connect(to address: String) async throws -> DevTools {
        let socket = try await NIODialer().dial(
            url: address, protocol: "", maximumFrameBytes: maximumMessageBytes)
        let devTools = DevTools(socket: socket)
        Task { await devTools.read() }
        return devTools
    }

    /// Whether the connection has ended.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Calls a method and waits for its answer.
    ///
    /// - Parameters:
    ///   - method: as in `Page.navigate`.
    ///   - parameters: an object.
    ///   - session: of the page; nil for the browser.
    ///   - limit: the timeout.
    /// - Returns: the result.
    /// - Throws: ``RepriseCore/RepriseError`` `.closed` if the session or the connection has ended,
    ///   `.timedOut`, `.refused` if the browser refuses; `CancellationError`.
    @discardableResult
    package func call(
        _ method: String, _ parameters: DevToolsValue = [:], session: String? = nil,
        within limit: Duration = DevTools.timeout
    ) async throws -> DevToolsValue {
        try await call(
            method, parameters, session: session, within: limit, as: DevToolsValue.self)
    }

    /// Calls a method whose result has a type.
    package func call<Result: Decodable>(
        _ method: String, _ parameters: DevToolsValue = [:], session: String? = nil,
        within limit: Duration = DevTools.timeout, as type: Result.Type
    ) async throws -> Result {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let request = Request(id: id, method: method, params: parameters, sessionId: session)
        let frame = [UInt8](try JSONEncoder().encode(request))
        let deadline = Task {
            try await Task.sleep(for: limit)
            fail(id, RepriseError(.timedOut, "Chromium did not answer \(method) in \(limit)."))
        }
        defer { deadline.cancel() }
        let bytes = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { begin(id, session, $0, frame) }
        } onCancel: {
            fail(id, CancellationError())
        }
        do {
            return try JSONDecoder().decode(Answer<Result>.self, from: Data(bytes)).result
        } catch {
            throw RepriseError(
                .internal, "What Chromium answers to \(method) is not as documented.", cause: error)
        }
    }

    /// Calls the handler with a session's events, in order, from now on; it must not block.
    func listen(to session: String, _ handler: @escaping @Sendable (Event) -> Void) {
        state.withLock { $0.handlers[session] = handler }
    }

    /// Fails a session's waiting calls: its page will not answer any more.
    func forget(_ session: String) {
        let calls = state.withLock { state in
            state.handlers[session] = nil
            let calls = state.calls.filter { $0.value.session == session }
            for id in calls.keys { state.calls[id] = nil }
            return calls
        }
        for call in calls.values { call.answer.resume(throwing: Self.closed()) }
    }

    /// Ends the connection, and with it all that was made over it with `disposeOnDetach`.
    package func close() async { await socket.close(code: 1000) }

    // MARK: The connection

    private func begin(
        _ id: Int, _ session: String?, _ answer: CheckedContinuation<[UInt8], any Error>,
        _ frame: [UInt8]
    ) {
        let refusal: (any Error)? = state.withLock { state in
            if state.isClosed { return Self.closed() }
            if Task.isCancelled { return CancellationError() }
            guard state.calls.count < Self.maximumCalls else {
                return RepriseError(.full, "Chromium has not answered \(Self.maximumCalls) calls.")
            }
            state.calls[id] = Call(session: session, answer: answer)
            return nil
        }
        if let refusal { return answer.resume(throwing: refusal) }
        Task {
            do { try await socket.send([frame]) } catch { fail(id, Self.closed(error)) }
        }
    }

    private func fail(_ id: Int, _ error: any Error) {
        let call = state.withLock { $0.calls.removeValue(forKey: id) }
        call?.answer.resume(throwing: error)
    }

    private func read() async {
        while let frames = try? await socket.receive() {
            for frame in frames { received(frame) }
        }
        let (calls, handlers) = state.withLock { state in
            state.isClosed = true
            defer { (state.calls, state.handlers) = ([:], [:]) }
            return (state.calls, state.handlers)
        }
        for call in calls.values { call.answer.resume(throwing: Self.closed()) }
        for handler in handlers.values { handler(Event(method: "closed", bytes: [])) }
    }

    private func received(_ bytes: [UInt8]) {
        guard let header = try? JSONDecoder().decode(Header.self, from: Data(bytes)) else { return }
        if let id = header.id {
            guard let call = state.withLock({ $0.calls.removeValue(forKey: id) }) else { return }
            guard let failure = header.error else { return call.answer.resume(returning: bytes) }
            call.answer.resume(
                throwing: RepriseError(.refused, "Chromium refuses: \(failure.message)"))
        } else if let method = header.method, let session = header.sessionId {
            let handler = state.withLock { $0.handlers[session] }
            handler?(Event(method: method, bytes: bytes))
        }
    }

    private static func closed(_ cause: (any Error)? = nil) -> RepriseError {
        RepriseError(.closed, "The page, or the browser with it, has gone.", cause: cause)
    }
}
