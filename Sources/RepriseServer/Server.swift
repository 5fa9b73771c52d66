import Foundation
import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
import NIOPosix
import RepriseCore
import RepriseWire
public import ServiceLifecycle
import Synchronization

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
/// Run it once. A graceful shutdown stops accepting, stores and acknowledges accepted messages,
/// tells every client to reconnect later (``RepriseWire/CloseCode/goingAway``) and closes the log,
/// within 5 s.
public struct Server: Service {
    /// The address of a running server.
    public struct Address: Hashable, Sendable {
        /// As configured.
        public let host: String
        /// The actual port, also where 0 was configured.
        public let port: Int

        /// Whether the server uses TLS.
        public let isSecure: Bool

        /// The URL for clients: `http://host:port`, or `https://host:port`.
        public var url: String {
            let name = host.contains(":") ? "[\(host)]" : host
            return "\(isSecure ? "https" : "http")://\(name):\(port)"
        }
    }

    private typealias Storage = ServerComponents.Storage
    private typealias Loaded = ServerComponents.Loaded

    let configuration: ServerConfiguration
    let logger: Logger
    private let onReady: @Sendable (Address, Gateway) async -> Void
    private let openLog: @Sendable () throws -> any MessageLog
    /// Opens the journal of the cluster that this server is in; nil if it is alone.
    private let openJournal: (@Sendable () async throws -> any ClusterJournal)?
    private let schedule: BaseKeeper.Schedule
    /// Of a gateway; for tests.
    private let view: ClusterView.Configuration
    private let exchange: PresenceExchange.Settings
    private let elsewhere: ConnectedElsewhere.Settings
    private let runningAccess = RunningAccess()
    private let admission: Admission?
    /// Replaces the configured one; for tests.
    private let givenAuthenticator: (any Authenticating)?
    /// Replace the configured providers; for tests.
    private let givenProviders: [any PushProvider]?

    /// Makes a server without starting it.
    ///
    /// - Parameters:
    ///   - configuration: the address, the storage and the limits.
    ///   - logger: receives connection ids and reasons, never bodies.
    ///   - onReady: called once the server accepts connections.
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

    /// Makes a server in a cluster, whose journal `openJournal` opens and this server closes.
    ///
    /// `onReady` is called when all that the journal then had is applied here.
    package init(
        configuration: ServerConfiguration, logger: Logger,
        onReady: @escaping @Sendable (Address) async -> Void,
        schedule: BaseKeeper.Schedule = BaseKeeper.Schedule(),
        openJournal: @escaping @Sendable () async throws -> any ClusterJournal
    ) {
        self.init(
            configuration: configuration, logger: logger,
            onReady: { address, _ in await onReady(address) },
            openLog: { throw RepriseError(.internal, "A gateway has no log of its own.") },
            openJournal: openJournal, schedule: schedule)
    }

    /// Makes a server whose log `openLog` opens.
    ///
    /// `onReady` gives tests the gateway. `admission` replaces authenticator and accounts; where
    /// both it and `authenticator` are nil, the configuration says who may come in.
    package init(
        configuration: ServerConfiguration, logger: Logger,
        onReady: @escaping @Sendable (Address, Gateway) async -> Void,
        openLog: @escaping @Sendable () throws -> any MessageLog,
        openJournal: (@Sendable () async throws -> any ClusterJournal)? = nil,
        schedule: BaseKeeper.Schedule = BaseKeeper.Schedule(),
        view: ClusterView.Configuration = ClusterView.Configuration(), admission: Admission? = nil,
        authenticator: (any Authenticating)? = nil, providers: [any PushProvider]? = nil,
        exchange: PresenceExchange.Settings = PresenceExchange.Settings(),
        elsewhere: ConnectedElsewhere.Settings = ConnectedElsewhere.Settings()
    ) {
        self.configuration = configuration
        self.logger = logger
        self.onReady = onReady
        self.openLog = openLog
        self.openJournal = openJournal
        self.schedule = schedule
        self.view = view
        self.exchange = exchange
        self.elsewhere = elsewhere
        self.admission = admission
        givenAuthenticator = authenticator
        givenProviders = providers
    }

    /// Serves until a graceful shutdown or cancellation.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.portInUse`, `.badConfiguration`, and the errors of
    ///   opening the log.
    public func run() async throws {
        let descriptors = DescriptorLimit.raise()
        let metrics = ServerMetrics(also: ServerMetrics.bootstrapped)
        let clock = SystemTimekeeper()
        let storage: Storage
        do {
            storage = try await openStorage(clock)
        } catch {
            if openJournal != nil, Task.isShuttingDownGracefully { return }
            throw error
        }
        let loaded: Loaded
        do {
            loaded = try await load(clock)
        } catch {
            await storage.close()
            throw error
        }
        let components = assemble(storage, loaded, metrics, clock, descriptors: descriptors)
        runningAccess.opened(loaded.accessControl, components.pushing)
        if let cluster = storage.cluster { Self.watch(cluster, by: metrics) }
        let result = await run(components)
        await components.presence?.write()
        await storage.close()
        try result.get()
    }

    private func load(_ clock: SystemTimekeeper) async throws -> Loaded {
        var opened: (providers: [any PushProvider], webPushKey: String?) =
            (givenProviders ?? [], nil)
        do {
            if givenProviders == nil {
                opened = try Pushing.providers(
                    configuration.push, folder: configuration.data, clock: clock, logger: logger)
            }
            return Loaded(
                accessControl: try await AccessControl(configuration, clock: clock, logger: logger),
                providers: opened.providers, webPushKey: opened.webPushKey)
        } catch {
            for provider in opened.providers { await provider.close() }
            throw error
        }
    }

    private func assemble(
        _ storage: Storage, _ loaded: Loaded, _ metrics: ServerMetrics, _ clock: SystemTimekeeper,
        descriptors: Int?
    ) -> ServerComponents {
        let log = MeasuredLog(log: storage.log, metrics: metrics, clock: clock)
        let admission = makeAdmission(loaded, storage.accounts)
        let loops = MultiThreadedEventLoopGroup.singleton.makeIterator()
        let hub = Hub(loops: loops, limits: configuration.limits)
        let devices = ConnectedDevices()
        let elsewhere = storage.cluster.map {
            ConnectedElsewhere($0, devices, self.elsewhere, metrics: metrics, clock: clock)
        }
        let pushing = Pushing(
            loaded.providers, webPushKey: loaded.webPushKey, accounts: storage.accounts, log: log,
            connected: { asked in
                await elsewhere?.connected(of: asked) ?? devices.connected(of: asked)
            }, cluster: storage.cluster, metrics: metrics, clock: clock, logger: logger)
        let onCommit: @Sendable ([ServerFrame.Event]) -> Void = {
            hub.committed($0)
            pushing.committed($0)
        }
        let committer = Committer(
            log: log, clock: clock, timesSubmissions: storage.cluster != nil, logger: logger,
            // In a cluster the events come with the journal, those of others too.
            onCommit: { if storage.cluster == nil { onCommit($0) } },
            onFailure: {
                hub.storingFailed(in: $0)
                if storage.cluster == nil { pushing.storingFailed() }
            })
        let presence =
            configuration.presence && admission != nil
            ? PresenceService(
                accounts: storage.accounts, cluster: storage.cluster, exchange: exchange,
                metrics: metrics, clock: clock, logger: logger)
            : nil
        let gateway = Gateway(
            limits: configuration.limits, hub: hub, log: log, committer: committer,
            admission: admission, devices: devices, cluster: storage.cluster, presence: presence,
            metrics: metrics, clock: clock, logger: logger, descriptors: descriptors)
        return ServerComponents(
            storage: storage, accessControl: loaded.accessControl, log: log, gateway: gateway,
            committer: committer, pushing: pushing, elsewhere: elsewhere, presence: presence,
            onCommit: onCommit)
    }

    private func makeAdmission(_ loaded: Loaded, _ accounts: Accounts) -> Admission? {
        admission
            ?? (givenAuthenticator ?? loaded.accessControl.authenticator).map {
                Admission(authenticator: $0, accounts: accounts)
            }
    }

    /// Runs all components until the server ends.
    private func run(_ components: ServerComponents) async -> Result<Void, any Error> {
        let (committer, pushing) = (components.committer, components.pushing)
        return await withTaskGroup(of: Part.self) { parts in
            if let cluster = components.storage.cluster {
                parts.addTask { .followed(await followJournal(of: cluster, components)) }
            }
            parts.addTask {
                await committer.run()
                return .stored
            }
            parts.addTask {
                await pushing.run()
                return .pushed
            }
            parts.addTask {
                let served = await Self.result {
                    guard try await hasCaughtUp(components.storage.cluster) else { return }
                    try await serve(components)
                    // A gateway stores nothing once it does not follow its journal.
                    await components.presence?.end()
                }
                components.elsewhere?.end()
                return .served(served)
            }
            return await ended(&parts, committer, pushing)
        }
    }

    /// Applies the cluster's journal, and delivers what comes with it.
    private func followJournal(
        of cluster: ClusterMember, _ components: ServerComponents
    ) async -> Result<Void, any Error> {
        let (elsewhere, gateway) = (components.elsewhere, components.gateway)
        async let _: Void? = elsewhere?.hear()
        return await Self.result {
            try await follow(
                cluster, leftBehind: gateway.sendAway,
                // What was pushed is reported to the journal, or the next gateway repeats it.
                shutdown: { await components.pushing.stop() }
            ) { entry, isOwn in
                elsewhere?.applied(entry, isOwn: isOwn)
                components.storage.accounts.applied(entry)
                gateway.applied(entry.arrivals)
                components.onCommit(entry.events)
                if !isOwn { tell(entry, by: gateway) }
            }
        }
    }

    /// What a cluster's operator reads of this server.
    private var gatewayName: String {
        "\(ProcessInfo.processInfo.hostName.prefix(48)):\(configuration.port)"
    }

    private func openStorage(_ clock: any Timekeeper) async throws -> Storage {
        if let openJournal {
            let journal = try await cancelWhenGracefulShutdown { try await openJournal() }
            let cluster = try await cancelWhenGracefulShutdown {
                try await ClusterMember.join(
                    journal, at: configuration.data, name: gatewayName,
                    implicitChannels: configuration.implicitChannels, view, schedule: schedule,
                    clock: clock, logger: logger)
            }
            return Storage(log: cluster.log, accounts: cluster.accounts, cluster: cluster)
        }
        let log = try openLog()
        do {
            let accounts = try Accounts.open(
                at: configuration.data, implicitChannels: configuration.implicitChannels,
                clock: clock, heads: { try log.head(of: $0) })
            do {
                if let log = log as? SQLiteMessageLog {
                    try accounts.belong(to: log.epoch, isRestored: configuration.isRestored)
                }
            } catch {
                await accounts.close()
                throw error
            }
            return Storage(log: log, accounts: accounts)
        } catch {
            await log.close()
            throw error
        }
    }

    /// Serves and runs maintenance; when it returns, only the committer uses the log.
    private func serve(_ components: ServerComponents) async throws {
        let (gateway, log) = (components.gateway, components.log)
        let accounts = components.storage.accounts
        let policy = RetentionPolicy(
            count: configuration.keptMessages, age: configuration.keptFor)
        async let _: Void? = gateway.cluster?.keepRules()
        async let _: Void? = gateway.cluster?.bases?.run()
        async let _: Void? = gateway.cluster?.hearTyping { gateway.hub.typing($0) }
        async let _: Void? = gateway.presence?.hear()
        async let _: Void? = gateway.cluster?.watchJournal()
        async let _: Void = keepDirectories(of: accounts, gateway, log)
        async let _: Void = Housekeeping(
            log: log, policy: policy, accounts: accounts, clock: SystemTimekeeper(), logger: logger
        ).run()
        do {
            try await listen(components)
        } catch {
            throw Self.explain(error, configuration)
        }
    }

    /// Has the users' directories told by one gateway at a time, with the cluster's housekeeping.
    private func keepDirectories(
        of accounts: Accounts, _ gateway: Gateway, _ log: any MessageLog
    ) async {
        let publisher = DirectoryPublisher(
            accounts: accounts, log: log, committer: gateway.committer, clock: gateway.clock,
            logger: logger)
        let tells = gateway.asksWho
        if let cluster = gateway.cluster {
            await cluster.keepHouse { if tells { await publisher.run() } }
        } else if tells {
            await publisher.run()
        }
    }

    /// Reloads keys and certificate without closing connections; an unusable file is logged and the
    /// old one stays.
    public func reload() async { await runningAccess.reload() }

    private func warnIfUnsafe() {
        switch configuration.access {
        case .open:
            logger.warning(
                "authentication is off: every client that reaches the server can read and write",
                metadata: ["host": "\(configuration.host)"])
        case .tokens(.development):
            logger.warning("development server: every client on this machine can get a token")
        case .tokens:
            guard configuration.tls == nil, !configuration.isLoopback else { return }
            logger.warning(
                "tokens and messages are not encrypted: use TLS, or a TLS proxy beside the server",
                metadata: ["host": "\(configuration.host)"])
        }
    }

    /// Returns when every connection has ended.
    private func listen(_ components: ServerComponents) async throws {
        let (gateway, accessControl) = (components.gateway, components.accessControl)
        let isSecure = accessControl.certificate != nil
        let router = Router()
        router.add(middleware: BrowserGuard(rules: accessControl.browsers, isSecure: isSecure))
        HTTPRoutes(services(components)).add(to: router)
        UpgradeRequiredRoute().add(to: router)
        if let issuer = accessControl.issuer {
            DevelopmentTokenRoute(issuer: issuer, clock: gateway.clock).add(to: router)
        }
        router.refuseOtherMethods()
        let unbound = Race<Void>()
        let application = Application(
            responder: router.buildResponder(),
            server: HTTPServerBuilder {
                GatewayChannel(gateway: gateway, accessControl: accessControl, responder: $0)
            },
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.listening, port: configuration.port),
                serverName: "reprise", backlog: 1_024),
            onServerRunning: { channel in
                channel.closeFuture.whenComplete { _ in unbound.end(.success(())) }
                let acceptErrors = AcceptErrorHandler(
                    warning: ThrottledWarning(logger: logger, clock: gateway.clock))
                try? await channel.pipeline.addHandler(acceptErrors, position: .first).get()
                warnIfUnsafe()
                let port = channel.localAddress?.port ?? configuration.port
                await onReady(
                    Address(host: configuration.host, port: port, isSecure: isSecure), gateway)
            },
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), logger: logger)
        try await withShutdownDeadline(gateway) {
            try await runGracefully(application, unbound: unbound)
        }
    }

    /// Runs the application until a graceful shutdown, and shuts it down gracefully when the task
    /// is cancelled, as that of a gateway that must end.
    ///
    /// Hummingbird logs the cancellation of an application that listens as errors, although nothing
    /// is wrong; so it is cancelled once it listens no more: when `unbound` ends.
    private func runGracefully(_ application: some Service, unbound: Race<Void>) async throws {
        let group = ServiceGroup(services: [application], logger: .silent)
        let running = Task { try await group.run() }
        defer { unbound.end(.success(())) }
        try await withTaskCancellationHandler {
            try await running.value
        } onCancel: {
            Task {
                await group.triggerGracefulShutdown()
                try? await unbound.value()
                running.cancel()
            }
        }
    }

    /// The dependencies of the HTTP API.
    private func services(_ components: ServerComponents) -> HTTPServices {
        let gateway = components.gateway
        var services = HTTPServices(
            log: components.log, committer: components.committer,
            accounts: components.storage.accounts,
            authenticator: gateway.authenticator, clock: gateway.clock)
        services.barrier = gateway.cluster?.barrier
        services.problem = { gateway.cluster?.problem }
        services.streams = gateway.streams
        services.metrics = { gateway.metrics.text() }
        services.authFailed = { gateway.metrics.authFailed($0) }
        services.formsDone = { gateway.metrics.formsDone($0) }
        services.webPushKey = components.pushing.webPushKey
        services.presence = gateway.presence
        services.endpoints = EndpointGuard(
            allowsPrivate: configuration.push.webPush?.allowsPrivate ?? false)
        services.backup = configuration.backups.map { folder in
            let backups = Backups(of: configuration.data, in: folder)
            return { try await backups.make(at: gateway.clock.wall()) }
        }
        services.wait = { gateway.limiter.wait(for: $0, now: gateway.clock.uptime()) }
        services.moved = { channel, position in
            try await gateway.tell(.init(channel: channel, position: position))
        }
        return services
    }

    /// Runs `body`, and cancels what remains at the deadline of a graceful shutdown.
    private func withShutdownDeadline(
        _ gateway: Gateway, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Ending.self) { tasks in
            tasks.addTask {
                try await body()
                return .served
            }
            tasks.addTask {
                try? await gracefulShutdown()
                guard !Task.isCancelled else { return .cancelled }
                gateway.quiesce()
                try? await Task.sleep(for: configuration.limits.shutdown)
                guard !Task.isCancelled else { return .cancelled }
                logger.warning("closing the connections that have not ended in time")
                gateway.cutAll()
                return .timeUp
            }
            while let ending = try await tasks.next() {
                guard ending != .cancelled else { continue }
                // At the deadline, also cancels tasks without a connection; their results are
                // ignored.
                tasks.cancelAll()
                while await tasks.nextResult() != nil {}
            }
        }
    }

    private enum Ending {
        case served, timeUp, cancelled
    }

    /// Explains what an operator can do about an unavailable port.
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

/// The files that a running server reloads on request; shared by copies of the server.
private final class RunningAccess: Sendable {
    private let opened = Mutex<(accessControl: AccessControl, pushing: Pushing)?>(nil)

    func opened(_ accessControl: AccessControl, _ pushing: Pushing) {
        opened.withLock { $0 = (accessControl, pushing) }
    }

    func reload() async {
        guard let (accessControl, pushing) = opened.withLock(\.self) else { return }
        pushing.reload()
        await accessControl.reload()
    }
}
