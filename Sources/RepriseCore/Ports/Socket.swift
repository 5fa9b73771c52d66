/// A connection that carries text frames, as a platform implements it: SwiftNIO on Linux,
/// URLSession on Apple systems.
///
/// One reader, any number of writers. Every call ends when the connection ends.
public protocol Socket: Sendable {
    /// Waits for frames and returns all that have arrived, in order, at least one.
    ///
    /// Unread frames wait in the transport, which stops reading from the network at its bound (1
    /// MiB): memory does not grow with a backlog.
    ///
    /// - Returns: whole text frames as UTF-8 bytes; nil when the connection has ended.
    /// - Throws: ``SocketFailure`` when it ended without a close frame.
    func receive() async throws -> [[UInt8]]?

    /// Sends text frames in order; returns when the transport has taken them.
    ///
    /// - Parameter frames: UTF-8.
    /// - Throws: ``SocketFailure`` when the connection has ended.
    func send(_ frames: [[UInt8]]) async throws

    /// Ends the connection; queued frames are sent first, for at most a second. A second call does
    /// nothing.
    ///
    /// - Parameter code: RFC 6455 §7.4.
    func close(code: UInt16) async

    /// The close code that the peer sent, once the connection has ended.
    var closeCode: UInt16? { get async }

    /// Sends a ping (RFC 6455 §5.5.2); returns at the pong.
    ///
    /// A transport that cannot ping need not implement it; then a suspect connection is replaced.
    ///
    /// - Throws: ``SocketFailure`` when the connection has ended, or when the transport cannot
    ///   ping.
    func ping() async throws
}

extension Socket {
    /// This transport cannot ping.
    public func ping() async throws { throw SocketFailure("This transport has no ping.") }
}

/// Opens connections.
public protocol SocketDialer: Sendable {
    /// Opens a WebSocket connection (RFC 6455).
    ///
    /// - Parameters:
    ///   - url: `ws://` or `wss://` with host, port and path; `http` and `https` are accepted as
    ///     synonyms.
    ///   - protocol: the subprotocol to request; a server that does not choose it is not Reprise.
    ///   - maximumFrameBytes: a larger frame closes the connection with 1009.
    /// - Returns: the open connection.
    /// - Throws: ``RepriseError`` `.unreachable`, `.notReprise`, `.timedOut`.
    func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws -> any Socket
}

/// Why a connection ended without a close frame.
public struct SocketFailure: Error, Sendable, CustomStringConvertible {
    /// The transport's reason.
    public let reason: String

    /// Makes a failure.
    public init(_ reason: String) { self.reason = reason }

    /// The transport's reason.
    public var description: String { reason }
}
