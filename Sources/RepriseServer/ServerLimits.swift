import RepriseWire

/// The bounds that a server keeps; `docs/limits.md` lists each with its close code.
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
    /// One more is closed with ``RepriseWire/CloseCode/tooManyConnections``: those that work go on.
    public var connectionsPerUser = 32
    /// How many messages a user may publish in a second, by whichever way; one more is refused with
    /// `rateLimited`.
    ///
    /// Admins are not limited: what publishes for everybody has an admin's token.
    public var publishesPerSecond = 200
    /// How many messages a user may publish at once, after a pause.
    public var publishesAtOnce = 2_000
    /// How many channels a connection may ask for in a second, once it has asked for twice
    /// ``channelsPerConnection``.
    ///
    /// One more is refused with `rateLimited`. Only where users are known.
    public var subscribesPerSecond = 200
    /// How many catch-ups read the log at a time, for the whole server; the others wait in line.
    public var logReaders = 4
    /// The most people who are said to type in a channel at a time; who comes then is not
    /// mentioned.
    public var typistsPerChannel = 20
    /// Nobody is told who types in a channel with more subscribers.
    public var typingSubscribers = 1_000
    /// The most publishes of one connection that wait to be stored.
    ///
    /// Beyond it the socket is not read.
    public var publishesInFlight = 1_024
    /// Beyond so many unsent bytes a connection gets no live events, but is demoted to catch-up.
    public var unsentBytes = 1_048_576
    /// Once no more than so many bytes are unsent, a demoted connection catches up.
    public var unsentBytesToResume = 262_144
    /// The most messages in one page of a catch-up.
    public var pageMessages = 1_024
    /// The most bytes of message bodies in one page of a catch-up.
    public var pageBytes = 262_144
    /// How long a connection may take for its first request, and again for its `hello`.
    public var handshake: Duration = WireLimits.handshake
    /// How often heads that changed are told, and how long nothing may be sent to a client before
    /// it is told that.
    public var heartbeat: Duration = WireLimits.heartbeat
    /// A peer that has been silent for so long is pinged.
    public var pingAfter: Duration = .seconds(45)
    /// A peer that has been silent for so long is closed with ``RepriseWire/CloseCode/idle``.
    public var idle: Duration = .seconds(90)
    /// A peer that takes none of the bytes that wait for it is closed with
    /// ``RepriseWire/CloseCode/notReading``.
    public var notReading: Duration = .seconds(60)
    /// How long a plain HTTP connection may be silent between requests.
    public var httpIdle: Duration = .seconds(60)
    /// The most connections that are no WebSockets, or not yet; one more is closed.
    ///
    /// No more than half of the files that the process may have open, so that WebSockets and the
    /// log have the others.
    public var httpConnections = 10_000
    /// The most of them from one IPv4 address, or from one /64 of IPv6; one more is closed.
    ///
    /// No more than an eighth of the files that the process may have open.
    public var httpConnectionsPerAddress = 2_000
    /// The most bytes of HTTP answers that wait for all peers together.
    ///
    /// Beyond it the connection that has waited longest is closed.
    public var httpUnsentBytes = 268_435_456
    /// The least bytes of a request's body in a second of waiting for it, once it is ``bodyGrace``
    /// behind (408).
    public var bodyBytesPerSecond = 100
    /// How far a request's body may be behind ``bodyBytesPerSecond``.
    public var bodyGrace: Duration = .seconds(20)
    /// How long bytes are thrown away behind the last answer of a connection, so that a reset does
    /// not overtake it.
    package var httpLingering: Duration = .seconds(5)
    /// How many bytes are thrown away behind the last answer of a connection.
    package var httpDiscardedBytes = 2 << 20
    /// How long a peer may take to answer a close frame.
    public var closeHandshake: Duration = .seconds(1)
    /// How long the server takes to end; what is not done by then is cut off.
    public var shutdown: Duration = .seconds(4)

    /// The defaults.
    public init() {}

    /// How finely time is looked at: a quarter of the shortest wait, but no finer than 10 ms.
    package var tick: Duration {
        let shortest = [
            handshake, heartbeat, pingAfter, idle, notReading, closeHandshake, shutdown,
        ]
        .reduce(.seconds(4)) { min($0, $1) }
        return max(shortest / 4, .milliseconds(10))
    }
}
