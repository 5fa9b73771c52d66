package import Logging
import NIOCore
import NIOWebSocket
package import RepriseCore
import RepriseWire
import Synchronization

/// The state shared by all WebSocket connections of a server.
package final class Gateway: Sendable {
    /// The event loop and number of a connection.
    struct Place: Equatable, Sendable {
        let id: UInt64
        let shard: Shard

        static func == (left: Place, right: Place) -> Bool { left.id == right.id }
    }

    package let limits: ServerLimits
    package let hub: Hub
    /// Authenticates connections; nil where access is open.
    package let authenticator: (any Authenticating)?
    /// The users' grants and positions; nil where access is open.
    private let accounts: (any ChannelAccounts)?
    /// Orders the hellos of a device at all gateways; nil if this server is alone.
    ///
    /// What the device has seen anywhere is here once its hello is.
    package let cluster: ClusterMember?
    package let metrics: ServerMetrics
    /// Tells users of others; nil where that is not offered.
    let presence: PresenceService?
    /// The publish rate limits of users, over all transports.
    package let limiter: RateLimiter
    let clock: any Timekeeper
    let logger: Logger
    /// Whether each live event is logged: asked for each subscriber of it.
    let logsEvents: Bool
    package let committer: Committer
    let reader: LogReader
    let httpConnections: HTTPConnections
    /// Bodies that are being stored while they arrive.
    package let streams = OpenStreams()
    let connectionLimits: ServerConnectionMachine.Limits

    private let log: any MessageLog
    private let users: Mutex<[UserID: Int]> = Mutex([:])
    private let devices: ConnectedDevices
    private let subscriptions = Atomic<Int>(0)
    private let catchUps = Atomic<Int>(0)
    private let state = Mutex((lastID: UInt64(0), connections: 0, isQuiescing: false))

    /// Makes the gateway of a server.
    ///
    /// - Parameters:
    ///   - limits: the bounds.
    ///   - hub: the one that `committer` sends events to.
    ///   - log: the log that catch-ups read.
    ///   - committer: stores messages.
    ///   - admission: the authenticator and the accounts; nil where access is open. Never one
    ///     without the other: an authenticated user without accounts would be allowed everything.
    ///   - devices: where connections are entered.
    ///   - cluster: nil if this server is alone.
    ///   - presence: nil where it is not offered.
    ///   - metrics: the counters.
    ///   - clock: the time.
    ///   - logger: receives connection ids and reasons.
    ///   - descriptors: the process's limit of open files and sockets; nil if unknown.
    package init(
        limits: ServerLimits, hub: Hub, log: any MessageLog, committer: Committer,
        admission: Admission? = nil, devices: ConnectedDevices = ConnectedDevices(),
        cluster: ClusterMember? = nil, presence: PresenceService? = nil,
        metrics: ServerMetrics = ServerMetrics(), clock: any Timekeeper, logger: Logger,
        descriptors: Int? = nil
    ) {
        self.limits = limits
        self.hub = hub
        self.committer = committer
        authenticator = admission?.authenticator
        let accounts = admission?.accounts
        self.accounts = accounts
        self.devices = devices
        self.cluster = cluster
        self.presence = presence
        self.metrics = metrics
        self.log = log
        self.clock = clock
        self.logger = logger
        logsEvents = logger.logLevel <= .trace
        httpConnections = HTTPConnections(
            .init(limits, descriptors: descriptors),
            warning: ThrottledWarning(logger: logger, clock: clock))
        limiter = RateLimiter(
            .init(
                perSecond: Double(limits.publishesPerSecond),
                burst: Double(limits.publishesAtOnce)))
        reader = LogReader(
            log: log, accounts: accounts, barrier: cluster?.barrier, limits: limits)
        connectionLimits = ServerConnectionMachine.Limits(limits)
        watch()
        accounts?.onAccessChanged { channel, user in
            hub.accessChanged(channel, user)
            presence?.membersChanged(in: channel)
        }
    }

    /// The number of WebSocket connections.
    package var connectionCount: Int { state.withLock { $0.connections } }

    /// The number of connections that are not WebSockets, or were not welcomed yet.
    package var httpConnectionCount: Int { httpConnections.count }

    /// Whether the server is shutting down.
    package var isQuiescing: Bool { state.withLock { $0.isQuiescing } }

    /// The server is shutting down: new connections are refused, and only messages that wait for
    /// their commit are stored.
    package func quiesce() {
        state.withLock { $0.isQuiescing = true }
        committer.shutdown()
        streams.end()
    }

    /// Attaches a connection after its handshake; on its event loop.
    ///
    /// Its own handler belongs behind `decoder`, which reads its frames. It keeps its `seat` among
    /// the HTTP connections until it is welcomed: until then it may be anybody's.
    func attach(
        _ channel: any Channel, behind decoder: any ChannelHandler, seat: HTTPConnections.Seat?
    ) throws {
        guard let shard = hub.shard(of: channel.eventLoop) else {
            preconditionFailure("a connection is on a loop that the hub was not made for")
        }
        let (id, isWelcome, isQuiescing) = state.withLock { state in
            state.lastID += 1
            state.connections += 1
            return (state.lastID, state.connections <= limits.connections, state.isQuiescing)
        }
        let connection = ConnectionHandler(
            id: id, loopHub: shard.loopHub(for: self), seat: seat, now: clock.uptime())
        let pipeline = channel.pipeline.syncOperations
        do {
            try pipeline.addHandler(
                FrameHeaderGuard { connection.machine.frameLimit }, position: .before(decoder))
            // The last: from here on its end counts it out.
            try pipeline.addHandler(connection, position: .after(decoder))
        } catch {
            connection.leaveSeat()
            connectionEnded()
            throw error
        }
        if isQuiescing {
            connection.quiesce()
        } else if !isWelcome {
            connection.violated(
                .overloaded,
                "This server takes at most \(limits.connections) connections. Come back later.")
        }
    }

    /// The channel that tells a user's conversations; nil where nothing does.
    func directory(of user: UserID) -> ChannelName? {
        accounts?.tellsDirectories == true ? .directory(of: user) : nil
    }

    /// Whether connections are authenticated.
    var asksWho: Bool { authenticator != nil }

    var subscribeRate: TokenBucket.Rate {
        .init(
            perSecond: Double(limits.subscribesPerSecond),
            burst: Double(2 * limits.channelsPerConnection))
    }

    /// How long a token is valid after its end.
    var leeway: Duration { authenticator?.leeway ?? .zero }

    /// Authenticates a token, off the event loop; each connection calls it once at a time.
    func identify(
        _ token: AccessToken?,
        _ answer: @escaping @Sendable (Result<Principal, RepriseError>) -> Void
    ) {
        guard let authenticator else { return answer(.success(.open)) }
        Task {
            do {
                answer(.success(try await authenticator.principal(of: token)))
            } catch {
                let error =
                    error as? RepriseError
                    ?? RepriseError(.unavailable, "The token could not be looked at.")
                metrics.authFailed(error)
                answer(.failure(error))
            }
        }
    }

    /// Tells every device to connect again, perhaps elsewhere; later ones are not affected.
    func sendAway() {
        for shard in hub.shards { shard.post(.sendAway) }
    }

    /// Closes every connection's transport.
    package func cutAll() {
        httpConnections.cutAll()
        for shard in hub.shards { shard.post(.cutAll) }
    }

    func connectionEnded() { state.withLock { $0.connections -= 1 } }

    // MARK: Users and devices

    /// Counts one more connection of the user, within the limit.
    ///
    /// The newest is refused: a person who opens another window keeps the working ones.
    func admits(_ user: UserID) -> Bool {
        users.withLock { users in
            guard users[user, default: 0] < limits.connectionsPerUser else { return false }
            users[user, default: 0] += 1
            return true
        }
    }

    func left(_ user: UserID) {
        users.withLock { users in
            let count = users[user, default: 1] - 1
            users[user] = count > 0 ? count : nil
        }
    }

    /// A hello has come on a connection; ``arrived(_:as:_:)`` follows, or ``left(_:as:)``.
    func entered(_ place: Place, as device: ConnectingDevice) {
        devices.update { $0.entered(place, as: device) }
    }

    /// Brings a hello into the cluster's journal.
    ///
    /// - Returns: what does it, to be cancelled if the connection ends before.
    func arrive(
        _ device: ConnectingDevice, at cluster: ClusterMember,
        _ answer: @escaping @Sendable (Result<Generation?, RepriseError>) -> Void
    ) -> Task<Void, Never> {
        Task {
            do {
                answer(.success(try await cluster.arrive(device)))
            } catch {
                answer(
                    .failure(
                        error as? RepriseError
                            ?? RepriseError(.unavailable, "The cluster could not be asked.")))
            }
        }
    }

    /// The hello of a connection counts.
    func arrived(
        _ place: Place, as device: ConnectingDevice, _ generation: Generation?
    ) -> DeviceRoster<Place>.Arrival {
        devices.update { $0.arrived(place, as: device, generation) }
    }

    func left(_ place: Place, as device: ConnectingDevice) {
        devices.update { $0.left(place, as: device) }
    }

    /// Devices have connected at some gateway of the cluster: their older connections end.
    func applied(_ arrivals: [Arrival]) {
        guard !arrivals.isEmpty else { return }
        let older = devices.update { roster in
            arrivals.flatMap { roster.superseded($0.device, by: $0.generation) }
        }
        for place in older { place.shard.post(.replace(place.id, by: nil)) }
    }

    func sawDevice(_ device: EntryID, of user: UserID) {
        guard let accounts else { return }
        Task {
            do {
                try await accounts.sawDevice(device, of: user)
            } catch {
                logger.warning(
                    "a device's connection could not be stored", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Makes a receipt durable and notifies subscribers; or notifies `shard` that it failed.
    func move(
        _ receipt: ClientFrame.Receipt, of user: UserID, isAdmin: Bool, on device: EntryID?,
        by id: UInt64, through shard: Shard
    ) {
        guard let accounts else { return shard.post(.moveFailed(id, receipt, isRefused: true)) }
        Task {
            do {
                let position = try await accounts.move(
                    MovePosition(
                        channel: receipt.channel, user: user, isAdmin: isAdmin, device: device,
                        read: receipt.read, delivered: receipt.delivered))
                try await tell(.init(channel: receipt.channel, position: position), by: id)
            } catch {
                let isRefused = (error as? RepriseError)?.code == .refused
                logger.log(
                    level: isRefused ? .debug : .warning, "a receipt could not be stored",
                    metadata: [
                        "connection": "\(id)", "channel": "\(receipt.channel)",
                        "error": "\(error)",
                    ])
                shard.post(.moveFailed(id, receipt, isRefused: isRefused))
            }
        }
    }

    /// Notifies those who may see where a user now stands: by the receipt of a connection, which
    /// has its answer by that, or for 0 by other means.
    package func tell(_ moved: AccountEffects.Move, by id: UInt64 = 0) async throws {
        logger.tell(
            .debug, "A position has moved.",
            [
                "channel": moved.channel.text, "user": moved.position.user.text,
                "read": "\(moved.position.read)", "delivered": "\(moved.position.delivered)",
            ])
        guard let accounts else { return }
        let members = try await accounts.memberCount(of: moved.channel)
        hub.moved(
            by: id,
            PositionUpdates.Telling(
                channel: moved.channel, position: moved.position, except: id == 0 ? nil : id,
                isPrivate: members > WireLimits.positions))
    }

    /// A user starts, continues or stops typing here.
    func typing(_ told: TypingBoard.Told) {
        hub.typing(told)
        cluster?.typing(told)
    }

    // MARK: Metrics

    func subscriptionsChanged(by count: Int) {
        subscriptions.wrappingAdd(count, ordering: .relaxed)
    }

    func catchUpsChanged(by count: Int) { catchUps.wrappingAdd(count, ordering: .relaxed) }

    /// Registers metrics that are read on request.
    private func watch() {
        metrics.gauge(.connections) { [weak self] in self?.connectionCount ?? 0 }
        metrics.gauge(.connectedUsers) { [weak self] in
            self?.users.withLock { $0.count } ?? 0
        }
        metrics.gauge(.subscriptions) { [weak self] in
            self?.subscriptions.load(ordering: .relaxed) ?? 0
        }
        metrics.gauge(.catchUpsOpen) { [weak self] in
            self?.catchUps.load(ordering: .relaxed) ?? 0
        }
        metrics.gauge(.readsWaiting) { [weak self] in self?.reader.waitingCount ?? 0 }
        metrics.gauge(.publishesWaiting) { [weak self] in
            self?.committer.waitingCount ?? 0
        }
    }
}
