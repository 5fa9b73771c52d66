public import Foundation
import RepriseCore

/// Sends a request whose body and response fit into memory.
///
/// Run again after a kill, it sends the same request with the same `Idempotency-Key`: a server that
/// stores these keys performs it once. Other servers may perform it twice, unless the method is
/// idempotent (GET, PUT, DELETE).
///
/// 2xx succeeds. 408, 425, 429 and 5xx are retried, not before the time of `Retry-After`. Every
/// other status ends the task.
public struct HTTPRequestWorker: Worker {
    /// The input of a request.
    public struct Input: Codable, Hashable, Sendable {
        /// As in RFC 9110 §9.
        public var method: String
        /// `https://` or `http://`.
        public var url: String
        /// Names and values; they are written into the journal, so tokens belong into the
        /// credentials of ``StandardWorkers``.
        public var headers: [String: String]
        /// Its body: at most 1 MiB.
        public var body: Data?
        /// Statuses that are as good as 2xx, as 404 is for a DELETE.
        public var accepted: Set<Int>
        /// The most bytes of the answer's body.
        public var limit: Int
        /// Idle timeout in seconds.
        public var timeout: Double

        /// Describes a request.
        ///
        /// - Parameters:
        ///   - method: as in RFC 9110 §9.
        ///   - url: `https://` or `http://`.
        ///   - headers: names and values.
        ///   - body: of the request.
        ///   - accepted: statuses that succeed like 2xx.
        ///   - limit: the most bytes of the response's body.
        ///   - timeout: idle timeout in seconds.
        public init(
            _ method: String = "GET", url: String, headers: [String: String] = [:],
            body: Data? = nil, accepted: Set<Int> = [], limit: Int = WorkerLimits.answer,
            timeout: Double = 30
        ) {
            self.method = method
            self.url = url
            self.headers = headers
            self.body = body
            self.accepted = accepted
            self.limit = limit
            self.timeout = timeout
        }

        private enum CodingKeys: String, CodingKey {
            case method
            case url
            case headers
            case body
            case accepted
            case limit
            case timeout = "patience"
        }
    }

    /// The server's response.
    public struct Output: Codable, Hashable, Sendable {
        /// As in RFC 9110 §15.
        public var status: Int
        /// By their names in lower case.
        public var headers: [String: String]
        /// All of it.
        public var body: Data
    }

    /// `reprise.http`.
    public static let identifier = "reprise.http"

    let network: GuardedTransport

    /// Sends the request.
    ///
    /// - Parameters:
    ///   - input: the request.
    ///   - work: the task.
    /// - Returns: the response.
    /// - Throws: `DispatchFailure`; the transport's `RepriseError`.
    public func run(_ input: Input, _ work: WorkContext) async throws -> Output {
        try await WorkerFailure.sorting {
            let method = try Method.checked(input.method)
            guard input.body?.count ?? 0 <= WorkerLimits.requestBody else {
                throw RepriseError(
                    .tooLarge, "The body has more than \(WorkerLimits.requestBody) bytes.",
                    remedy: "Upload a file.")
            }
            var headers = input.headers
            headers["Idempotency-Key"] = work.key
            let call = HTTPCall(
                method: method, url: input.url, headers: headers,
                body: input.body.map { .bytes(Array($0)) } ?? .none,
                timeout: .checked(timeout: input.timeout))
            let received = Received(limit: min(max(input.limit, 0), WorkerLimits.answer))
            try await network.exchange(call, attempt: work.attempt) { head in
                try StatusPolicy.check(head, accepted: input.accepted)
                received.begin(head)
            } chunk: {
                try received.append($0)
            }
            let (head, body) = try received.answer()
            return Output(status: head.status, headers: head.headers, body: Data(body))
        }
    }
}

/// Methods that a worker sends.
enum Method {
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`.
    static func checked(_ method: String) throws -> String {
        guard ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].contains(method) else {
            throw RepriseError(
                .badConfiguration, "This method is not sent: \(String(reflecting: method)).",
                remedy: "GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS are, in capitals.")
        }
        return method
    }
}

extension Duration {
    /// Between a tenth of a second and an hour.
    static func checked(timeout seconds: Double) -> Duration {
        let limits = WorkerLimits.timeouts
        guard seconds.isFinite else { return .seconds(WorkerLimits.defaultTimeout) }
        return .seconds(min(max(seconds, limits.lowerBound), limits.upperBound))
    }
}
