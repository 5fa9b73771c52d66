/// Fetches over HTTP, as a platform implements it: `URLSession` on Apple systems, SwiftNIO on
/// Linux.
public protocol HTTPFetcher: Sendable {
    /// Fetches a resource.
    ///
    /// - Parameters:
    ///   - url: `http://` or `https://`.
    ///   - headers: names and values.
    ///   - limit: a larger answer is an error.
    /// - Returns: the answer, whatever its status.
    /// - Throws: ``RepriseError`` `.unreachable`, `.timedOut`, `.tooLarge`, `.untrusted`,
    ///   `.badConfiguration`.
    func get(_ url: String, headers: [String: String], limit: Int) async throws -> HTTPAnswer
}

/// The answer to a request.
public struct HTTPAnswer: Hashable, Sendable {
    /// As in RFC 9110 §15.
    public var status: Int
    /// By their names in lower case.
    public var headers: [String: String]
    /// The content.
    public var body: [UInt8]

    /// Makes an answer, as a platform or a test does.
    public init(status: Int, headers: [String: String], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
