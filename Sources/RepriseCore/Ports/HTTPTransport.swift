public import Foundation

/// Speaks HTTP with bodies that need not fit into memory: `URLSession` on Apple systems, SwiftNIO
/// on Linux.
///
/// It follows no redirect: who asks decides whether it may go there.
public protocol HTTPTransport: Sendable {
    /// Sends a request and hands the answer over as it comes.
    ///
    /// - Parameters:
    ///   - request: what to ask.
    ///   - head: is called once, with the status and the headers; it may throw to end the exchange.
    ///   - chunk: is called with each piece of the body, in order, before the next is read from the
    ///     network.
    /// - Throws: ``RepriseError`` `.unreachable`, `.timedOut`, `.untrusted`, `.badConfiguration`,
    ///   `.malformed` (a body that ends before the length that was announced, an encoding that was
    ///   not asked for), `CancellationError`, and what `head` and `chunk` throw.
    func exchange(
        _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws

    /// The same, and says meanwhile how much of a file has gone.
    ///
    /// A transport that has only the other one need not have this: then nothing is said.
    ///
    /// - Parameters:
    ///   - request: what to ask.
    ///   - sent: is called with the bytes of the body that have gone so far, before more of it is
    ///     read.
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
    /// Says nothing of what has gone.
    public func exchange(
        _ request: HTTPCall, sent: @escaping @Sendable (Int64) async -> Void,
        head: @Sendable (HTTPHead) async throws -> Void,
        chunk: @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await exchange(request, head: head, chunk: chunk)
    }
}

/// What is asked.
public struct HTTPCall: Hashable, Sendable, Codable {
    /// What goes with it.
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
    /// What goes with it.
    public var body: Body
    /// How long nothing may come or go.
    public var patience: Duration
    /// Where to connect to instead of looking up the host's name again, as numbers.
    ///
    /// Whoever has looked at the address is not led elsewhere by a second answer. A transport that
    /// cannot do that (`URLSession`) does without.
    public var address: String?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: as in RFC 9110 §9.
    ///   - url: `http://` or `https://`.
    ///   - headers: names and values.
    ///   - body: what goes with it.
    ///   - patience: how long nothing may come or go.
    ///   - address: where to connect to, if the host's name shall not be looked up.
    public init(
        method: String = "GET", url: String, headers: [String: String] = [:], body: Body = .none,
        patience: Duration = .seconds(30), address: String? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.patience = patience
        self.address = address
    }
}

/// The beginning of an answer.
public struct HTTPHead: Hashable, Sendable, Codable {
    /// As in RFC 9110 §15.
    public var status: Int
    /// By their names in lower case; of several with one name they are joined by a comma.
    public var headers: [String: String]

    /// Makes the beginning of an answer, as a platform or a test does.
    public init(status: Int, headers: [String: String]) {
        self.status = status
        self.headers = headers
    }
}
