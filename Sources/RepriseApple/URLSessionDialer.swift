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
        private typealias Opening = CheckedContinuation<Void, any Error>

        private let configuration: URLSessionConfiguration

        /// Makes a dialer.
        ///
        /// - Parameter configuration: the configuration of each connection's session; nil for one
        ///   that waits for no network.
        public init(configuration: URLSessionConfiguration? = nil) {
            let standard = URLSessionConfiguration.default
            standard.waitsForConnectivity = false
            standard.timeoutIntervalForRequest = 15
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
        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, `.unreachable`,
        ///   `.notReprise`.
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
                chosen = try await withTaskCancellationHandler {
                    try await delegate.opened { task.resume() }
                } onCancel: {
                    task.cancel()
                }
            } catch {
                throw RepriseError(.unreachable, "No server answers at this address.", cause: error)
            }
            guard chosen == `protocol` else {
                task.cancel(with: .protocolError, reason: nil)
                throw RepriseError(.notReprise, "What answers is not a Reprise server.")
            }
            return URLSessionSocket(task: task, delegate: delegate)
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
            do {
                switch try await task.receive() {
                case .string(let text): return [Array(text.utf8)]
                case .data:
                    task.cancel(with: .unsupportedData, reason: nil)
                    throw SocketFailure("A binary frame came; Reprise speaks text.")
                @unknown default: throw SocketFailure("An unknown kind of frame came.")
                }
            } catch {
                if delegate.closeCode != nil { return nil }
                throw SocketFailure("The connection failed: \((error as NSError).code).")
            }
        }

        func send(_ frames: [[UInt8]]) async throws {
            do {
                for frame in frames {
                    try await task.send(.string(String(decoding: frame, as: UTF8.self)))
                }
            } catch {
                throw SocketFailure("The connection has ended: \((error as NSError).code).")
            }
        }

        func close(code: UInt16) async {
            // The system's type has no case for application codes; it still keeps the number where
            // it accepts it.
            task.cancel(with: .init(rawValue: Int(code)) ?? .normalClosure, reason: nil)
        }

        var closeCode: UInt16? { delegate.closeCode }

        func ping() async throws {
            try await withCheckedThrowingContinuation {
                (done: CheckedContinuation<Void, any Error>) in
                // The system may call back twice when the connection breaks.
                let once = Mutex(Optional(done))
                task.sendPing { error in
                    let done = once.withLock { done in
                        defer { done = nil }
                        return done
                    }
                    if error == nil {
                        done?.resume()
                    } else {
                        done?.resume(throwing: SocketFailure("No pong came."))
                    }
                }
            }
        }
    }

    /// Observes how a connection begins and ends.
    final class SocketDelegate: NSObject, URLSessionWebSocketDelegate {
        private struct State {
            var opening: CheckedContinuation<String?, any Error>?
            var closeCode: UInt16?
        }

        private let state = Mutex(State())

        var closeCode: UInt16? { state.withLock { $0.closeCode } }

        func opened(_ begin: () -> Void) async throws -> String? {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { $0.opening = continuation }
                begin()
            }
        }

        private func take() -> CheckedContinuation<String?, any Error>? {
            state.withLock { state in
                defer { state.opening = nil }
                return state.opening
            }
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
            didOpenWithProtocol chosen: String?
        ) {
            take()?.resume(returning: chosen)
        }

        func urlSession(
            _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
            didCloseWith code: URLSessionWebSocketTask.CloseCode, reason: Data?
        ) {
            state.withLock { $0.closeCode = UInt16(clamping: code.rawValue) }
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
        ) {
            take()?.resume(throwing: error ?? SocketFailure("The connection ended."))
        }
    }
#endif
