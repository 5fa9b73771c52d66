/// A request that a stand-in got.
public struct FakeRequest: Hashable, Sendable {
    /// The method, unchanged.
    public var method: String
    /// Path and query.
    public var path: String
    /// Names in small letters, and values, in order.
    public var headers: [(name: String, value: String)] { pairs.map { ($0.name, $0.value) } }
    /// The body.
    public var body: [UInt8]
    /// Whether it came over HTTP/2.
    public var isHTTP2: Bool
    private var pairs: [Header]

    private struct Header: Hashable {
        var name: String
        var value: String
    }

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - path: path and query.
    ///   - headers: in order.
    ///   - body: the body.
    ///   - isHTTP2: whether it came over HTTP/2.
    public init(
        method: String, path: String, headers: [(String, String)], body: [UInt8],
        isHTTP2: Bool = false
    ) {
        self.method = method
        self.path = path
        self.body = body
        self.isHTTP2 = isHTTP2
        pairs = headers.map { Header(name: $0.0.lowercased(), value: $0.1) }
    }

    /// All values of a header.
    public subscript(name: String) -> [String] {
        pairs.filter { $0.name == name }.map(\.value)
    }
}

/// A stand-in's reaction to a request.
public enum FakeAnswer: Hashable, Sendable {
    /// It answers.
    case status(Int, headers: [String: String] = [:], body: String = "")
    /// It never answers.
    case hang
    /// It ends the connection.
    case cut
    /// It begins an answer and ends the connection in its middle.
    case cutInBody
    /// It begins an answer and never ends it.
    case hangInBody
}
