import RepriseWire

/// The limits of a server; `docs/limits/server.md` lists each with its close code.
public struct ServerLimits: Hashable, Sendable {
    /// The most WebSocket connections.
    ///
    /// One more is closed with ``RepriseWire/CloseCode/overloaded``.
    public var connections = 50_000
    /// The most channels that one connection may be subscribed to.
    ///
    /// One more is refused with `tooManyChannels`.
    public var channelsPerConnection = WireLimits.channelsPerConnection
    /// The most WebSocket connections of one user.
    ///
    /// One more is closed with ``RepriseWire/CloseCode/tooManyConnections``; existing ones stay.
    public var connectionsPerUser = 32
    /// The messages per second that a user may publish, over all transports; one more is refused
    /// with `rateLimited`.
    ///
    /// Admins are not limited: a service that publishes for all users has an admin's token.
    public var publishesPerSecond = 200
    /// The burst of messages that a user may publish after a pause.
    public var publishesAtOnce = 2_000
    /// The subscribes per second of a connection, after a burst of twice ``channelsPerConnection``.
    ///
    /// One more is refused with `rateLimited`. Applies only with authentication.
    public var subscribesPerSecond = 200
    /// The most catch-ups that read the log at a time, for the whole server; others queue.
    public var logReaders = 4
    /// The most users shown as typing in a channel at a time; further ones are not shown.
    public var typistsPerChannel = 20
    /// The most subscribers of a channel in which typing is shown.
    public var typingSubscribers = 1_000
    /// The most publishes of one connection in flight.
    ///
    /// Beyond it the socket is not read.
    public var publishesInFlight = 1_024
    /// The unsent bytes beyond which a connection gets no live events, but is demoted to catch-up.
    public var unsentBytes = 1_048_576
    /// The unsent bytes at or below which a demoted connection catches up.
    public var unsentBytesToResume = 262_144
    /// The most messages in one page of a catch-up.
    public var pageMessages = 1_024
    /// The most bytes of message bodies in one page of a catch-up.
    public var pageBytes = 262_144
    /// The timeout of a connection's first request, and again of its `hello`.
    public var handshake: Duration = WireLimits.handshake
    /// The interval at which changed heads are sent, and the longest silence before an empty
    /// heartbeat.
    public var heartbeat: Duration = WireLimits.heartbeat
    /// The silence after which a peer is pinged.
    public var pingAfter: Duration = .seconds(45)
    /// The silence after which a peer is closed with ``RepriseWire/CloseCode/idle``.
    public var idle: Duration = .seconds(90)
    /// How long a peer may read none of its pending bytes before it is closed with
    /// ``RepriseWire/CloseCode/notReading``.
    public var notReading: Duration = .seconds(60)
    /// How long a plain HTTP connection may be silent between requests.
    public var httpIdle: Duration = .seconds(60)
    /// The most connections that are not WebSockets, or not welcomed yet; one more is closed.
    ///
    /// At most half of the process's open files, to leave the others for WebSockets and the log.
    public var httpConnections = 10_000
    /// The most of them from one IPv4 address, or from one /64 of IPv6; one more is closed.
    ///
    /// At most an eighth of the process's open files.
    public var httpConnectionsPerAddress = 2_000
    /// The most unsent bytes of HTTP answers over all connections.
    ///
    /// Beyond it the connection that has waited longest is closed.
    public var httpUnsentBytes = 268_435_456
    /// The least bytes per second of a request's body, once it is ``bodyGrace`` behind (408).
    public var bodyBytesPerSecond = 100
    /// How far a request's body may be behind ``bodyBytesPerSecond``.
    public var bodyGrace: Duration = .seconds(20)
    /// How long bytes are dropped after a connection's last answer, so that a reset does not
    /// overtake it.
    package var httpLingering: Duration = .seconds(5)
    /// The most bytes dropped after a connection's last answer.
    package var httpDiscardedBytes = 2 << 20
    /// The timeout of the answer to a close frame.
    public var closeHandshake: Duration = .seconds(1)
    /// The timeout of a shutdown; what remains is cancelled.
    public var shutdown: Duration = .seconds(4)

    /// The defaults.
    public init() {}

    /// The resolution of timers: a quarter of the shortest timeout, but at least 10 ms.
    package var tick: Duration {
        let shortest = [
            handshake, heartbeat, pingAfter, idle, notReading, closeHandshake, shutdown,
        ]
        .reduce(.seconds(4)) { min($0, $1) }
        return max(shortest / 4, .milliseconds(10))
    }
}
