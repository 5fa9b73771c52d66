import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
import RepriseCore
import RepriseWire
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
/// back later (``RepriseWire/CloseCode/goingAway``) and closes the log, within 5 s.
public struct Server: Service {
    /// Where a running server listens.
    public struct Address: Hashable, Sendable {
        /// As configured.
        public let host: String
        /// The real port, also where 0 was configured.
        public let port: Int

        /// The address as clients take it: `http://host:port`.
        public var url: String {
            host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
        }
    }

    private let configuration: ServerConfiguration
    private let logger: Logger
    private let onReady: @Sendable (Address, Gateway) async -> Void
    private let openLog: @Sendable () throws -> any MessageLog
    private let admission: Admission?

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
        self.init(
            configuration: configuration, logger: logger,
            onReady: { address, _ in await onReady(address) },
            openLog: {
                var log = SQLiteMessageLog.Configuration()
                log.isRestored = configuration.isRestored
                return try SQLiteMessageLog.open(at: configuration.data, log)
            })
    }

    /// `openLog` opens the log that the server then closes; tests look at the gateway that `onReady` gets. `admission` is nil where access is
    /// open.
    package init(
        configuration: ServerConfiguration, logger: Logger,
        onReady: @escaping @Sendable (Address, Gateway) async -> Void,
        openLog: @escaping @Sendable () throws -> any MessageLog, admission: Admission? = nil
    ) {
        self.configuration = configuration
        self.logger = logger
        self.onReady = onReady
        self.openLog = openLog
        self.admission = admission
    }

    /// Serves until a graceful shutdown or cancellation.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.portInUse`, `.badConfiguration`, and what opening the log throws.
    public func run() async throws {
        let metrics = ServerMetrics()
        let clock = SystemTimekeeper()
        let log = MeasuredLog(try openLog(), metrics: metrics, clock: clock)
        warnIfOpenToOthers()
        let group = MultiThreadedEventLoopGroup.singleton
        let hub = Hub(loops: group.makeIterator(), limits: configuration.limits)
        let committer = Committer(
            log: log, onCommit: { hub.committed($0) },
            onFailure: { hub.storingFailed(in: $0) })
        let gateway = Gateway(
            limits: configuration.limits, hub: hub, log: log, committer: committer,
            authenticator: admission?.authenticator, accounts: admission?.accounts,
            metrics: metrics, clock: clock, logger: logger)
        async let storing: Void = committer.run()
        let result = await serve(on: group, gateway, log)
        committer.shutdown()
        await storing
        await log.close()
        try result.get()
    }

    /// Serves, keeping house meanwhile; when it returns nothing uses the log but the committer.
    private func serve(
        on group: MultiThreadedEventLoopGroup, _ gateway: Gateway, _ log: any MessageLog
    ) async -> Result<Void, any Error> {
        let policy = RetentionPolicy(
            count: configuration.keptMessages, age: configuration.keptFor)
        async let _: Void = Housekeeping(
            log: log, policy: policy, clock: SystemTimekeeper(), logger: logger
        ).run()
        do {
            try await listen(on: group, gateway, log)
            return .success(())
        } catch {
            return .failure(Self.explain(error, configuration))
        }
    }

    private func warnIfOpenToOthers() {
        guard !["127.0.0.1", "::1", "localhost"].contains(configuration.host) else { return }
        logger.warning(
            "this version knows no accounts: whoever reaches the server can read and write",
            metadata: ["host": "\(configuration.host)"])
    }

    /// Returns when every connection has ended.
    private func listen(
        on group: MultiThreadedEventLoopGroup, _ gateway: Gateway, _ log: any MessageLog
    ) async throws {
        let router = Router()
        HTTPRoutes(log: log, committer: gateway.committer).add(to: router)
        MetricsRoute(metrics: gateway.metrics).add(to: router)
        UpgradeRequiredRoute().add(to: router)
        let application = Application(
            responder: router.buildResponder(),
            server: HTTPServerBuilder { GatewayChannel(gateway: gateway, responder: $0) },
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                serverName: "reprise", backlog: 1_024),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? configuration.port
                await onReady(Address(host: configuration.host, port: port), gateway)
            },
            eventLoopGroupProvider: .shared(group), logger: logger)
        try await withShutdownDeadline(gateway) { try await application.run() }
    }

    /// Runs `body`, and cuts off what has not ended by itself when the time for a graceful shutdown is up.
    private func withShutdownDeadline(
        _ gateway: Gateway, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                try? await gracefulShutdown()
                guard !Task.isCancelled else { return }
                gateway.quiesce()
                try await Task.sleep(for: configuration.limits.shutdown)
                logger.warning("cutting off what has not ended in time")
                gateway.cutAll()
            }
            defer { tasks.cancelAll() }
            try await body()
        }
    }

    /// Says what a person can do about a port that cannot be had.
    private static func explain(
        _ error: any Error, _ configuration: ServerConfiguration
    ) -> any Error {
        let place = "\(configuration.host):\(configuration.port)"
        switch error {
        case is RepriseError, is CancellationError: return error
        case let error as IOError where error.errnoCode == EADDRINUSE:
            return RepriseError(
                .portInUse, "The port \(configuration.port) is taken by another process.",
                remedy: "Stop that process, or choose another port; 0 takes a free one.",
                cause: error)
        case let error as IOError where error.errnoCode == EACCES:
            return RepriseError(
                .badConfiguration, "This user may not listen on \(place).",
                remedy: "Choose a port above 1023.", cause: error)
        case is IOError, is SocketAddressError, is SocketAddressError.UnknownHost, is ChannelError:
            return RepriseError(
                .badConfiguration, "This machine cannot listen on \(place).",
                remedy: "Choose an address of this machine: 127.0.0.1, or 0.0.0.0 for all.",
                cause: error)
        default: return error
        }
    }
}
