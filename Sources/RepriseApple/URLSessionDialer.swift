// Not run by the project's own tests, which run on Linux; compiled only with Network.framework.
#if canImport(Network)
    public import Foundation
    public import RepriseCore
    import Synchronization

    /// Opens WebSocket connections with `URLSession`, which follows the system's proxies and
    /// certificates.
    ///
    /// ```swift
    /// configuration.dialer = URLSessionDialer()
    /// ```
    public final class URLSessionDialer: NSObject, SocketDialer {
        /// How long a connection may take to open.
        public static let timeout = AppleLimits.dial
        /// Longer than any connection is silent or lasts: the client's own heartbeats end one.
        private static let never: TimeInterval = 365 * 86_400

        private let configuration: URLSessionConfiguration

        /// Makes a dialer.
        ///
        /// - Parameter configuration: the configuration of each connection's session; nil for one
        ///   that waits for no network. Its timeouts may end an open connection, and count from
        ///   its newest data or its beginning.
        public init(configuration: URLSessionConfiguration? = nil) {
            let standard = URLSessionConfiguration.default
            standard.waitsForConnectivity = false
            standard.timeoutIntervalForRequest = Self.never
            standard.timeoutIntervalForResource = Self.never
            self.configuration = configuration ?? standard
        }

        /// Opens a WebSocket connection (RFC 6455).
        ///
        /// - Parameters:
        ///   - url: `ws://` or `wss://` with host, port and path; `http` and `https` are accepted
        ///     as synonyms.
        ///   - protocol: the subprotocol to request.
        ///   - maximumFrameBytes: a larger frame closes the connection.
        /// - Returns: the open connection.
        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, also where the system asks
        ///   for TLS; `.unreachable`, `.unavailable`, `.untrusted`, `.notReprise`; `.timedOut`
        ///   after ``timeout``. `CancellationError` if the task was cancelled.
        public func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws
            -> any Socket
        {
            guard var parts = URLComponents(string: url) else { throw Self.badURL }
            parts.scheme = ["http": "ws", "https": "wss"][parts.scheme] ?? parts.scheme
            guard let address = parts.url else { throw Self.badURL }
            let delegate = SocketDelegate()
            let session = URLSession(
                configuration: configuration, delegate: delegate, delegateQueue: nil)
            let task = session.webSocketTask(with: address, protocols: [`protocol`])
            task.maximumMessageSize = maximumFrameBytes
            // Ends with the task, and releases the delegate.
            defer { session.finishTasksAndInvalidate() }
            let chosen: String?
            do {
                chosen = try await delegate.opened(within: Self.timeout) { task.resume() }
            } catch {
                task.cancel()
                throw Self.failure(error, task.response)
            }
            guard chosen == `protocol` else {
                task.cancel(with: .protocolError, reason: nil)
                throw RepriseError(.notReprise, "What answers is not a Reprise server.")
            }
            return URLSessionSocket(task: task, delegate: delegate)
        }

        private static func failure(_ error: any Error, _ response: URLResponse?) -> any Error {
            if error is RepriseError || error is CancellationError { return error }
            if let status = (response as? HTTPURLResponse)?.statusCode, status != 101 {
                return URLFailure.refused(status)
            }
            return URLFailure.unanswered((error as? URLError)?.code.rawValue ?? 0, cause: error)
        }

        private static let badURL = RepriseError(
            .badConfiguration, "This is no URL that can be dialled.")
    }

    /// An open connection.
    final class URLSessionSocket: Socket {
        private let task: URLSessionWebSocketTask
        private let delegate: SocketDelegate

        init(task: URLSessionWebSocketTask, delegate: SocketDelegate) {
            self.task = task
            self.delegate = delegate
        }

        deinit { task.cancel() }

        func receive() async throws -> [[UInt8]]? {
            let frame: [UInt8]?
            do {
                frame = try await delegate.calls.wait { [task, delegate] call in
                    task.receive { result in
                        switch result {
                        case .success(.string(let text)): call.end(.success(Array(text.utf8)))
                        case .success: call.end(.success(nil))
                        // The code of a close frame may not be known yet: the end says.
                        case .failure(let error): delegate.failed(error)
                        }
                    }
                }
            } catch {
                if delegate.closeCode != nil { return nil }
                throw SocketFailure("The connection failed: \((error as NSError).code).")
            }
            guard let frame else {
                task.cancel(with: .unsupportedData, reason: nil)
                throw SocketFailure("A binary frame came; Reprise speaks text.")
            }
            return [frame]
        }

        func send(_ frames: [[UInt8]]) async throws {
            do {
                for frame in frames {
                    let text = String(decoding: frame, as: UTF8.self)
                    try await delegate.calls.wait { [task] (call: Race<Void>) in
                        task.send(.string(text)) { error in
                            call.end(error.map { .failure($0) } ?? .success(()))
                        }
                    }
                }
            } catch {
                throw SocketFailure("The connection has ended: \((error as NSError).code).")
            }
        }

        func close(code: UInt16) async {
            delegate.closing()
            // The system's type has no case for application codes; it still keeps the number where
            // it accepts it.
            task.cancel(with: .init(rawValue: Int(code)) ?? .normalClosure, reason: nil)
            // A peer that is gone answers no close frame.
            delegate.failed(SocketFailure("The connection was closed."))
        }

        var closeCode: UInt16? { delegate.closeCode }

        func ping() async throws {
            do {
                try await delegate.calls.wait { [task] (call: Race<Void>) in
                    task.sendPing { error in
                        call.end(error.map { .failure($0) } ?? .success(()))
                    }
                }
            } catch {
                throw SocketFailure("No pong came.")
            }
        }
    }

    /// Observes how a connection begins and ends; its end ends every call.
    ///
    /// A TCP connection that breaks without a close frame may complete the task and leave the
    /// handler of `receive` uncalled: <https://github.com/WebKit/WebKit/pull/28392>.
    final class SocketDelegate: NSObject, URLSessionWebSocketDelegate {
        private struct State {
            var opening: Race<String?>?
            var closeCode: UInt16?
            var isClosing = false
        }

        private let state = Mutex(State())
        let calls = PendingCalls()

        var closeCode: UInt16? { state.withLock { $0.closeCode } }

        func opened(
            within limit: Duration, _ begin: @escaping @Sendable () -> Void
        ) async throws -> String? {
            try await calls.wait(within: limit, for: "Opening a connection") { call in
                self.state.withLock { $0.opening = call }
                begin()
            }
        }

        /// The task's code may be our own from now on.
        func closing() { state.withLock { $0.isClosing = true } }

        /// The connection cannot go on: its end is due.
        func failed(_ error: any Error) {
            calls.end(error, after: AppleLimits.end)
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
            didOpenWithProtocol chosen: String?
        ) {
            state.withLock { $0.opening }?.end(.success(chosen))
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
            didCloseWith code: URLSessionWebSocketTask.CloseCode, reason: Data?
        ) {
            state.withLock { $0.closeCode = URLFailure.peerCode(code.rawValue) }
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
        ) {
            let code = (task as? URLSessionWebSocketTask).map(\.closeCode.rawValue) ?? 0
            state.withLock { state in
                // The close frame may be reported here alone.
                if !state.isClosing, state.closeCode == nil {
                    state.closeCode = URLFailure.peerCode(code)
                }
            }
            calls.end(error ?? SocketFailure("The connection ended."))
        }
    }
#endif
