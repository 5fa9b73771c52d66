// Not run by the project's own tests, which run on Linux; compiled only with Network.framework.
#if canImport(Network)
    public import Foundation
    public import RepriseCore

    /// Speaks HTTP by `URLSession` with bodies of any size.
    ///
    /// ```swift
    /// let workers = StandardWorkers(sandbox: sandbox, transport: URLSessionTransport())
    /// ```
    ///
    /// `URLSession` resolves names itself: ``RepriseCore/HTTPCall/address`` is ignored.
    public struct URLSessionTransport: HTTPTransport {
        private static let piece = 65_536
        private let session: URLSession

        /// Makes a transport.
        ///
        /// - Parameter session: nil for one without cookies and cache.
        public init(session: URLSession? = nil) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.urlCache = nil
            configuration.httpShouldSetCookies = false
            self.session = session ?? URLSession(configuration: configuration)
        }

        /// Sends a request and passes the answer on as it arrives.
        ///
        /// - Parameters:
        ///   - request: the request.
        ///   - head: called once, with the status and the headers; it may throw to end the
        ///     exchange.
        ///   - chunk: called with each piece of the body, in order.
        /// - Throws: as ``RepriseCore/HTTPTransport`` says.
        public func exchange(
            _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
            chunk: @Sendable ([UInt8]) async throws -> Void
        ) async throws {
            try await exchange(request, sent: { _ in }, head: head, chunk: chunk)
        }

        /// The same, and reports meanwhile how much of a body is sent.
        ///
        /// - Parameters:
        ///   - request: the request.
        ///   - sent: called with the bytes sent so far, as often as the system reports them; of
        ///     reports in quick succession, with the newest.
        ///   - head: as above.
        ///   - chunk: as above.
        /// - Throws: as above.
        public func exchange(
            _ request: HTTPCall, sent: @escaping @Sendable (Int64) async -> Void,
            head: @Sendable (HTTPHead) async throws -> Void,
            chunk: @Sendable ([UInt8]) async throws -> Void
        ) async throws {
            let (gone, told) = AsyncStream.makeStream(
                of: Int64.self, bufferingPolicy: .bufferingNewest(1))
            let telling = Task { for await count in gone { await sent(count) } }
            let delegate = ExchangeDelegate(told, request.body)
            do {
                try await exchange(request, delegate, head, chunk)
            } catch {
                told.finish()
                telling.cancel()
                throw error
            }
            told.finish()
            // No report follows the end.
            await telling.value
        }

        private func exchange(
            _ request: HTTPCall, _ delegate: ExchangeDelegate,
            _ head: @Sendable (HTTPHead) async throws -> Void,
            _ chunk: @Sendable ([UInt8]) async throws -> Void
        ) async throws {
            let asked = try Self.request(request)
            let opened: (URLSession.AsyncBytes, URLResponse)
            do {
                opened = try await session.bytes(for: asked, delegate: delegate)
            } catch let error as URLError {
                throw Self.typed(error, isAnswered: false)
            }
            defer { opened.0.task.cancel() }
            guard let answer = HTTPHead(opened.1) else {
                throw RepriseError(.unreachable, "What answers does not speak HTTP.")
            }
            try await head(answer)
            let count = try await Self.read(opened.0, chunk)
            let hasBody = request.method != "HEAD" && ![204, 304].contains(answer.status)
            // A decoded body has another length.
            let isPlain = answer.headers["content-encoding"].map { $0 == "identity" } ?? true
            guard isPlain else {
                throw RepriseError(.malformed, "The answer is encoded, which was not asked for.")
            }
            if hasBody, let length = answer.headers["content-length"], Int64(length) != count {
                throw RepriseError(
                    .malformed, "The server announced \(length.prefix(40)) bytes and sent \(count)."
                )
            }
        }

        private static func read(
            _ bytes: URLSession.AsyncBytes, _ chunk: @Sendable ([UInt8]) async throws -> Void
        ) async throws -> Int64 {
            var (count, piece): (Int64, [UInt8]) = (0, [])
            piece.reserveCapacity(Self.piece)
            var iterator = bytes.makeAsyncIterator()
            while true {
                let byte: UInt8?
                do {
                    byte = try await iterator.next()
                } catch let error as URLError {
                    throw typed(error, isAnswered: true)
                }
                if let byte { piece.append(byte) }
                guard byte == nil || piece.count == Self.piece else { continue }
                count += Int64(piece.count)
                if !piece.isEmpty { try await chunk(piece) }
                piece.removeAll(keepingCapacity: true)
                if byte == nil { return count }
            }
        }

        private static func request(_ call: HTTPCall) throws -> URLRequest {
            guard let url = URL(string: call.url), url.host() != nil,
                ["http", "https"].contains(url.scheme?.lowercased())
            else {
                throw RepriseError(
                    .badConfiguration, "This is not the URL of a resource.",
                    remedy: "It begins with https:// or http://.")
            }
            let (seconds, attoseconds) = call.timeout.components
            var request = URLRequest(
                url: url, cachePolicy: .reloadIgnoringLocalCacheData,
                timeoutInterval: Double(seconds) + Double(attoseconds) / 1e18)
            request.httpMethod = call.method
            for (name, value) in call.headers { request.setValue(value, forHTTPHeaderField: name) }
            request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
            switch call.body {
            case .none: break
            case .bytes(let bytes): request.httpBody = Data(bytes)
            case .file(let file):
                let values = try file.resourceValues(forKeys: [.fileSizeKey])
                guard let stream = InputStream(url: file), let size = values.fileSize else {
                    throw RepriseError(.malformed, "The file to send cannot be read.")
                }
                request.httpBodyStream = stream
                request.setValue("\(size)", forHTTPHeaderField: "Content-Length")
            }
            return request
        }

        private static func typed(_ error: URLError, isAnswered: Bool) -> any Error {
            let failure = URLFailure.unanswered(error.code.rawValue, cause: error)
            guard isAnswered, (failure as? RepriseError)?.code == .unreachable else {
                return failure
            }
            return RepriseError(
                .malformed, "The answer was broken off.",
                remedy: "Check the address and the network.", cause: error)
        }
    }

    extension HTTPHead {
        /// Takes the head of the system's response.
        ///
        /// - Returns: nil for a response that is not HTTP.
        package init?(_ response: URLResponse?) {
            guard let response = response as? HTTPURLResponse else { return nil }
            let fields = response.allHeaderFields.compactMap { name, value in
                (name as? String).map { ($0.lowercased(), "\(value)") }
            }
            self.init(
                status: response.statusCode, headers: Dictionary(fields) { "\($0), \($1)" })
        }
    }

    /// Leaves redirects to the caller, reports the bytes sent, and opens a file again that is to be
    /// sent once more.
    ///
    /// <https://developer.apple.com/documentation/foundation/urlsessiontaskdelegate>
    private final class ExchangeDelegate: NSObject, URLSessionTaskDelegate {
        private let told: AsyncStream<Int64>.Continuation
        private let body: HTTPCall.Body

        init(_ told: AsyncStream<Int64>.Continuation, _ body: HTTPCall.Body) {
            (self.told, self.body) = (told, body)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64,
            totalBytesSent: Int64, totalBytesExpectedToSend: Int64
        ) { told.yield(totalBytesSent) }

        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            guard case .file(let file) = body else { return completionHandler(nil) }
            completionHandler(InputStream(url: file))
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest
        ) async -> URLRequest? { nil }
    }
#endif
