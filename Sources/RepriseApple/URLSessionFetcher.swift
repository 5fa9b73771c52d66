// Not run by the project's own tests, which are on Linux; compiled only where there is Network.framework.
#if canImport(Network)
    public import Foundation
    public import RepriseCore

    /// Asks over HTTP with `URLSession`, which follows the system's proxies and certificates.
    ///
    /// ```swift
    /// let catalogue = CatalogueSource(server: "https://…", fetcher: URLSessionFetcher())
    /// ```
    public struct URLSessionFetcher: HTTPFetcher {
        private let session: URLSession

        /// Makes one.
        ///
        /// - Parameter session: without a cache of its own by default: who asks keeps what it got.
        public init(session: URLSession = URLSession(configuration: .ephemeral)) {
            self.session = session
        }

        /// Asks for a resource.
        ///
        /// - Parameters:
        ///   - url: `http://` or `https://`.
        ///   - headers: names and values.
        ///   - limit: a larger answer is an error.
        /// - Returns: the answer, whatever its status.
        /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, `.unreachable`, `.timedOut`, `.untrusted`, `.tooLarge`.
        public func get(_ url: String, headers: [String: String], limit: Int) async throws
            -> HTTPAnswer
        {
            guard let address = URL(string: url), ["http", "https"].contains(address.scheme) else {
                throw RepriseError(.badConfiguration, "This is no address of a server.")
            }
            var request = URLRequest(
                url: address, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 15)
            for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
            do {
                let (bytes, response) = try await session.bytes(for: request)
                var body: [UInt8] = []
                for try await byte in bytes {
                    guard body.count < limit else {
                        throw RepriseError(
                            .tooLarge, "The answer has more than \(limit) bytes.")
                    }
                    body.append(byte)
                }
                return Self.answer(response as? HTTPURLResponse, body)
            } catch let error as URLError {
                throw RepriseError(Self.code(error), "The server was not reached.", cause: error)
            }
        }

        private static func answer(_ response: HTTPURLResponse?, _ body: [UInt8]) -> HTTPAnswer {
            var headers: [String: String] = [:]
            for (name, value) in response?.allHeaderFields ?? [:] {
                guard let name = name as? String, let value = value as? String else { continue }
                headers[name.lowercased()] = value
            }
            return HTTPAnswer(status: response?.statusCode ?? 0, headers: headers, body: body)
        }

        private static func code(_ error: URLError) -> RepriseError.Code {
            switch error.code {
            case .timedOut: .timedOut
            case .secureConnectionFailed, .serverCertificateHasBadDate,
                .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
                .serverCertificateNotYetValid:
                .untrusted
            default: .unreachable
            }
        }
    }
#endif
