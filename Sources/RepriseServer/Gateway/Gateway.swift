package import Logging
import NIOCore
package import RepriseCore
import RepriseWire
import Synchronization

/// What all WebSocket connections of a server share.
package final class Gateway: Sendable {
    package let limits: ServerLimits
    package let hub: Hub
    /// Finds out who comes; nil where access is open.
    package let authenticator: (any Authenticating)?
    let clock: any Timekeeper
    let logger: Logger
    package let committer: Committer
    let reader: LogReader
    let httpConnections = OpenConnections()
    let connectionLimits: ConnectionMachine.Limits

    private let state = Mutex((lastID: UInt64(0), connections: 0, isQuiescing: false))

    /// Makes the gateway of a server.
    ///
    /// - Parameters:
    ///   - limits: the bounds.
    ///   - hub: the one that `committer` hands events to.
    ///   - log: what catch-ups read.
    ///   - committer: what stores.
    ///   - authenticator: finds out who comes; nil where access is open.
    ///   - clock: tells the time.
    ///   - logger: gets connection ids and reasons.
    package init(
        limits: ServerLimits, hub: Hub, log: any MessageLog, committer: Committer,
        authenticator: (any Authenticating)? = nil, clock: any Timekeeper, logger: Logger
    ) {
        self.limits = limits
        self.hub = hub
        self.committer = committer
        self.authenticator = authenticator
        self.clock = clock
        self.logger = logger
        reader = LogReader(
            log: log, pageMessages: limits.pageMessages, pageBytes: limits.pageBytes)
        connectionLimits = ConnectionMachine.Limits(
            handshake: limits.handshake, heartbeat: limits.heartbeat, pingAfter: limits.pingAfter,
            idle: limits.idle,
            notReading: limits.notReading, closeHandshake: limits.closeHandshake,
            draining: limits.shutdown / 2, publishesInFlight: limits.publishesInFlight)
    }

    /// How many WebSocket connections there are.
    package var connectionCount: Int { state.withLock { $0.connections } }

    /// Whether the server is shutting down.
    package var isQuiescing: Bool { state.withLock { $0.isQuiescing } }

    /// The server is shutting down: connections that come from now on are sent away.
    package func quiesce() { state.withLock { $0.isQuiescing = true } }

    /// Takes over a connection whose handshake is done; on its event loop.
    func attach(_ channel: any Channel) throws {
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
        try channel.pipeline.syncOperations.addHandler(connection)
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
            } catch let error as RepriseError {
                answer(.failure(error))
            } catch {
                answer(
                    .failure(RepriseError(.unavailable, "The token could not be looked at.")))
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

/// Plain HTTP connections, so that those which do not end by themselves can be cut off at shutdown.
final class OpenConnections: Sendable {
    private let connections = Mutex<[ObjectIdentifier: any Channel]>([:])

    /// - Returns: takes the connection out again.
    func add(_ connection: any Channel) -> @Sendable () -> Void {
        let key = ObjectIdentifier(connection)
        connections.withLock { $0[key] = connection }
        return { self.connections.withLock { $0[key] = nil } }
    }

    func cutAll() {
        for connection in connections.withLock({ Array($0.values) }) {
            connection.close(promise: nil)
        }
    }
}
