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
            let frames: [[UInt8]]?
            do {
                frames = try await delegate.end.receive { [task, delegate] call in
                    task.receive { result in
                        switch result {
                        case .success(.string(let text)): call.end(.success([Array(text.utf8)]))
                        case .success: call.end(.success([]))
                        case .failure(let error): delegate.end.failed(error)
                        }
                    }
                }
            } catch {
                throw SocketFailure("The connection failed: \((error as NSError).code).")
            }
            if frames?.isEmpty == true {
                task.cancel(with: .unsupportedData, reason: nil)
                throw SocketFailure("A binary frame came; Reprise speaks text.")
            }
            return frames
        }

        func send(_ frames: [[UInt8]]) async throws {
            do {
                for frame in frames {
                    let text = String(decoding: frame, as: UTF8.self)
                    try await delegate.end.calls.wait { [task] (call: Race<Void>) in
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
            delegate.end.closing()
            // The system's type has no case for application codes; it still keeps the number where
            // it accepts it.
            task.cancel(with: .init(rawValue: Int(code)) ?? .normalClosure, reason: nil)
            // A peer that is gone answers no close frame.
            delegate.end.failed(SocketFailure("The connection was closed."))
        }

        var closeCode: UInt16? { delegate.end.closeCode }

        func ping() async throws {
            do {
                try await delegate.end.calls.wait { [task] (call: Race<Void>) in
                    task.sendPing { error in
                        call.end(error.map { .failure($0) } ?? .success(()))
                    }
                }
            } catch {
                throw SocketFailure("No pong came.")
            }
        }
    }

    /// Observes how a connection begins and ends.
    final class SocketDelegate: NSObject, URLSessionWebSocketDelegate {
        private let opening = Mutex<Race<String?>?>(nil)
        let end = SocketEnd()

        func opened(
            within limit: Duration, _ begin: @escaping @Sendable () -> Void
        ) async throws -> String? {
            try await end.calls.wait(within: limit, for: "Opening a connection") { call in
                self.opening.withLock { $0 = call }
                begin()
            }
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
            didOpenWithProtocol chosen: String?
        ) {
            opening.withLock { $0 }?.end(.success(chosen))
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
            didCloseWith code: URLSessionWebSocketTask.CloseCode, reason: Data?
        ) {
            end.closed(code: code.rawValue)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
        ) {
            let code = (task as? URLSessionWebSocketTask).map(\.closeCode.rawValue) ?? 0
            end.completed(code: code, error)
        }
    }
#endif
