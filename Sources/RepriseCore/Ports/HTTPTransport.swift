public import Foundation

/// Speaks HTTP with bodies that need not fit into memory: `URLSession` on Apple systems, SwiftNIO
/// on Linux.
///
/// It follows no redirect: the caller decides whether to.
public protocol HTTPTransport: Sendable {
    /// Sends a request and passes the answer on as it arrives.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - head: called once, with the status and the headers; it may throw to end the exchange.
    ///   - chunk: called with each piece of the body, in order, before the next is read from the
    ///     network.
    /// - Throws: ``RepriseError`` `.unreachable`, `.timedOut`, `.untrusted`, `.badConfiguration`,
    ///   `.malformed` (a body shorter than announced, an encoding that was not requested),
    ///   `CancellationError`, and the errors of `head` and `chunk`.
    func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws

    /// The same, and reports meanwhile how much of the body is sent.
    ///
    /// A transport need not implement this; then no progress is reported.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - sent: called with the bytes of the body sent so far, before more of it is read.
    ///   - head: as above.
    ///   - chunk: as above.
    /// - Throws: as above.
    func exchange(
        _ request: HTTPCall, sent: @escaping @Sendable (Int64) async -> Void,
        head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws
}

extension HTTPTransport {
    /// Reports no progress.
    public func exchange(
        _ request: HTTPCall, sent: @escaping @Sendable (Int64) async -> Void,
        head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await exchange(request, head: head, chunk: chunk)
    }
}

/// A request.
public struct HTTPCall: Hashable, Sendable, Codable {
    /// The body of a request.
    public enum Body: Hashable, Sendable, Codable {
        /// Nothing.
        case none
        /// These bytes.
        case bytes([UInt8])
        /// The content of this file, read as it is sent.
        case file(URL)
    }

    /// As in RFC 9110 §9.
    public var method: String
    /// `http://` or `https://`.
    public var url: String
    /// Names and values.
    public var headers: [String: String]
    /// The content to send, from memory or from a file.
    public var body: Body
    /// The timeout without any byte in or out.
    public var timeout: Duration
    /// The numeric address to connect to instead of resolving the host's name again.
    ///
    /// After an address was checked, a second look-up cannot lead elsewhere. A transport without
    /// this ability (`URLSession`) ignores it.
    public var address: String?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: as in RFC 9110 §9.
    ///   - url: `http://` or `https://`.
    ///   - headers: names and values.
    ///   - body: the body.
    ///   - timeout: the timeout without any byte in or out.
    ///   - address: the address to connect to, if the host's name must not be resolved.
    public init(
        method: String = "GET", url: String, headers: [String: String] = [:], body: Body = .none,
        timeout: Duration = .seconds(30), address: String? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.address = address
    }

    private enum CodingKeys: String, CodingKey {
        case method
        case url
        case headers
        case body
        case timeout = "patience"
        case address
    }
}

/// The status and headers of an answer.
public struct HTTPHead: Hashable, Sendable, Codable {
    /// As in RFC 9110 §15.
    public var status: Int
    /// By their names in lower case; values of one name are joined by a comma.
    public var headers: [String: String]

    /// Makes a head, as a platform or a test does.
    public init(status: Int, headers: [String: String]) {
        self.status = status
        self.headers = headers
    }
}
