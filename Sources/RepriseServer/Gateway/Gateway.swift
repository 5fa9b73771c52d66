package import Logging
import NIOCore
import NIOWebSocket
package import RepriseCore
import RepriseWire
import Synchronization

/// The state shared by all WebSocket connections of a server.
package final class Gateway: Sendable {
    package let limits: ServerLimits
    package let hub: Hub
    /// Authenticates connections; nil where access is open.
    package let authenticator: (any Authenticating)?
    /// The users' grants and positions; nil where access is open.
    let accounts: (any ChannelAccounts)?
    package let metrics: ServerMetrics
    /// The publish rate limits of users, over all transports.
    package let limiter: RateLimiter
    let clock: any Timekeeper
    let logger: Logger
    package let committer: Committer
    let reader: LogReader
    let httpConnections: HTTPConnections
    /// Bodies that are being stored while they arrive.
    package let streams = OpenStreams()
    let connectionLimits: ServerConnectionMachine.Limits

    let log: any MessageLog
    let users: Mutex<[UserID: Int]> = Mutex([:])
    let roster = Mutex(Roster())
    let subscriptions = Atomic<Int>(0)
    let catchUps = Atomic<Int>(0)
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
    ///   - metrics: the counters.
    ///   - clock: the time.
    ///   - logger: receives connection ids and reasons.
    ///   - descriptors: the process's limit of open files and sockets; nil if unknown.
    package init(
        limits: ServerLimits, hub: Hub, log: any MessageLog, committer: Committer,
        admission: Admission? = nil,
        metrics: ServerMetrics = ServerMetrics(), clock: any Timekeeper, logger: Logger,
        descriptors: Int? = nil
    ) {
        self.limits = limits
        self.hub = hub
        self.committer = committer
        authenticator = admission?.authenticator
        let accounts = admission?.accounts
        self.accounts = accounts
        self.metrics = metrics
        self.log = log
        self.clock = clock
        self.logger = logger
        httpConnections = HTTPConnections(
            .init(limits, descriptors: descriptors),
            warning: ThrottledWarning(logger: logger, clock: clock))
        limiter = RateLimiter(
            .init(
                perSecond: Double(limits.publishesPerSecond),
                burst: Double(limits.publishesAtOnce)))
        reader = LogReader(log: log, accounts: accounts, limits: limits)
        connectionLimits = ServerConnectionMachine.Limits(
            handshake: limits.handshake, heartbeat: limits.heartbeat, pingAfter: limits.pingAfter,
            idle: limits.idle,
            notReading: limits.notReading, closeHandshake: limits.closeHandshake,
            draining: limits.shutdown / 2, publishesInFlight: limits.publishesInFlight)
        watch()
        accounts?.onAccessChanged { hub.accessChanged($0, $1) }
    }

    /// The number of WebSocket connections.
    package var connectionCount: Int { state.withLock { $0.connections } }

    /// The number of connections that are not WebSockets, or not yet.
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
    /// Its own handler belongs behind `decoder`, which reads its frames.
    func attach(_ channel: any Channel, behind decoder: any ChannelHandler) throws {
        guard let shard = hub.shard(of: channel.eventLoop) else {
            preconditionFailure("a connection is on a loop that the hub was not made for")
        }
        let (id, isWelcome, isQuiescing) = state.withLock { state in
            state.lastID += 1
            state.connections += 1
            return (state.lastID, state.connections <= limits.connections, state.isQuiescing)
        }
        let connection = ConnectionHandler(
            id: id, loopHub: shard.loopHub(for: self), now: clock.uptime())
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(connection, position: .after(decoder))
        try pipeline.addHandler(
            FrameHeaderGuard { connection.machine.frameLimit }, position: .before(decoder))
        if isQuiescing {
            connection.quiesce()
        } else if !isWelcome {
            connection.violated(.overloaded, "The server has too many connections.")
        }
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

    /// Closes every connection's transport.
    package func cutAll() {
        httpConnections.cutAll()
        for shard in hub.shards { shard.post(.cutAll) }
    }

    func connectionEnded() { state.withLock { $0.connections -= 1 } }
}
