package import Logging
import NIOCore
import NIOWebSocket
package import RepriseCore
import RepriseWire
import Synchronization

/// What all WebSocket connections of a server share.
package final class Gateway: Sendable {
    package let limits: ServerLimits
    package let hub: Hub
    /// Finds out who comes; nil where access is open.
    package let authenticator: (any Authenticating)?
    /// What users may do, and how far they have read; nil where access is open.
    let accounts: (any ChannelAccounts)?
    package let metrics: ServerMetrics
    /// How fast users may publish, by whichever way.
    package let limiter: RateLimiter
    let clock: any Timekeeper
    let logger: Logger
    package let committer: Committer
    let reader: LogReader
    let httpConnections: HTTPConnections
    /// Bodies that are being stored while they come.
    package let streams = OpenStreams()
    let connectionLimits: ConnectionMachine.Limits

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
    ///   - hub: the one that `committer` hands events to.
    ///   - log: what catch-ups read.
    ///   - committer: what stores.
    ///   - admission: who finds out who comes and who knows what they may do; nil where access is
    ///     open. Never one without the other: who was asked for his name must not be allowed
    ///     everything because nobody knows what he may do.
    ///   - metrics: what counts.
    ///   - clock: tells the time.
    ///   - logger: gets connection ids and reasons.
    ///   - descriptors: how many files and sockets the process may have open; nil if that is not
    ///     known.
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
        connectionLimits = ConnectionMachine.Limits(
            handshake: limits.handshake, heartbeat: limits.heartbeat, pingAfter: limits.pingAfter,
            idle: limits.idle,
            notReading: limits.notReading, closeHandshake: limits.closeHandshake,
            draining: limits.shutdown / 2, publishesInFlight: limits.publishesInFlight)
        watch()
        accounts?.onAccessChanged { hub.accessChanged($0, $1) }
    }

    /// How many WebSocket connections there are.
    package var connectionCount: Int { state.withLock { $0.connections } }

    /// How many connections there are that are no WebSockets, or not yet.
    package var httpConnectionCount: Int { httpConnections.count }

    /// Whether the server is shutting down.
    package var isQuiescing: Bool { state.withLock { $0.isQuiescing } }

    /// The server is shutting down: connections that come from now on are sent away, and nothing is
    /// stored but what waits for its commit.
    package func quiesce() {
        state.withLock { $0.isQuiescing = true }
        committer.shutdown()
        streams.end()
    }

    /// Takes over a connection whose handshake is done; on its event loop.
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
            id: id, switchboard: shard.switchboard(for: self), now: clock.uptime())
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

    /// How long after its end a token still counts.
    var leeway: Duration { authenticator?.leeway ?? .zero }

    /// Finds out whose token it is, off the event loop; each connection asks once at a time.
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

    /// Ends every connection at the transport.
    package func cutAll() {
        httpConnections.cutAll()
        for shard in hub.shards { shard.post(.cutAll) }
    }

    func connectionEnded() { state.withLock { $0.connections -= 1 } }
}
