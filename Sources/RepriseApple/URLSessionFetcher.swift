// Not run by the project's own tests, which run on Linux; compiled only with Network.framework.
#if canImport(Network)
    public import Foundation
    public import RepriseCore

    /// Fetches over HTTP by `URLSession`.
    ///
    /// ```swift
    /// let answer = try await URLSessionFetcher().get(url, headers: [:], limit: 1_048_576)
    /// ```
    public struct URLSessionFetcher: HTTPFetcher {
        private let session: URLSession
        private let timeout: TimeInterval

        /// Makes a fetcher.
        ///
        /// - Parameters:
        ///   - session: nil for one without cookies and cache; the caller caches.
        ///   - timeout: seconds without a byte, and at most four times as long in all.
        public init(session: URLSession? = nil, timeout: TimeInterval = 15) {
            self.timeout = timeout
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForResource = timeout * 4
            configuration.urlCache = nil
            self.session = session ?? URLSession(configuration: configuration)
        }

        /// Fetches a resource; a redirect to another host is not followed but returned.
        ///
        /// - Parameters:
        ///   - url: `http://` or `https://`.
        ///   - headers: names and values.
        ///   - limit: a larger answer is an error, before more of it is kept.
        /// - Returns: the answer, whatever its status.
        /// - Throws: ``RepriseCore/RepriseError`` `.unreachable`, `.timedOut`, `.tooLarge`,
        ///   `.untrusted`, `.badConfiguration`; `CancellationError` if the task was cancelled.
        public func get(
            _ url: String, headers: [String: String], limit: Int
        ) async throws -> HTTPAnswer {
            guard let place = URL(string: url), place.host() != nil,
                ["http", "https"].contains(place.scheme?.lowercased())
            else {
                throw RepriseError(
                    .badConfiguration, "This is not the URL of a resource: \(url).",
                    remedy: "It begins with https:// or http://.")
            }
            var request = URLRequest(url: place, timeoutInterval: timeout)
            for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
            do {
                return try await ask(request, limit)
            } catch let error as URLError {
                throw Self.typed(error, place)
            }
        }

        private func ask(_ request: URLRequest, _ limit: Int) async throws -> HTTPAnswer {
            let (bytes, response) = try await session.bytes(for: request, delegate: SameHost())
            guard let response = response as? HTTPURLResponse else {
                throw RepriseError(.unreachable, "What answers does not speak HTTP.")
            }
            let tooLarge = RepriseError(.tooLarge, "The answer has more than \(limit) bytes.")
            guard response.expectedContentLength <= Int64(limit) else { throw tooLarge }
            var body: [UInt8] = []
            for try await byte in bytes {
                guard body.count < limit else { throw tooLarge }
                body.append(byte)
            }
            let fields = response.allHeaderFields.compactMap { name, value in
                (name as? String).map { ($0.lowercased(), "\(value)") }
            }
            return HTTPAnswer(
                status: response.statusCode, headers: Dictionary(fields) { "\($0), \($1)" },
                body: body)
        }

        private static func typed(_ error: URLError, _ place: URL) -> any Error {
            let host = place.host() ?? "the server"
            switch error.code {
            case .cancelled: return CancellationError()
            case .timedOut:
                return RepriseError(.timedOut, "\(host) did not answer in time.", cause: error)
            case .serverCertificateUntrusted, .serverCertificateHasBadDate,
                .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
                return RepriseError(
                    .untrusted, "\(host) does not prove who it is.", cause: error)
            default:
                return RepriseError(
                    .unreachable, "No server answers at \(host).",
                    remedy: "Check the address and the network.", cause: error)
            }
        }
    }

    /// Follows redirects to the same server only.
    private final class SameHost: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest
        ) async -> URLRequest? {
            let (from, to) = (response.url, request.url)
            return from?.host() == to?.host() && from?.port == to?.port
                && from?.scheme == to?.scheme ? request : nil
        }
    }
#endif
