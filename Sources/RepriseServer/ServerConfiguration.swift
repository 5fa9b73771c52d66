import RepriseCore

/// The configuration of a server.
///
/// ```swift
/// var configuration = ServerConfiguration(data: "/var/lib/reprise")
/// configuration.port = 0  // any free one
/// ```
public struct ServerConfiguration: Hashable, Sendable {
    /// The name or address to listen on.
    public var host: String
    /// The port to listen on; 0 takes a free one.
    public var port: Int
    /// The folder of the message log; created if missing.
    public var data: String
    /// Whether the folder was restored from a backup since a server last used it.
    ///
    /// A restored log may assign sequences again that devices have seen with other messages. So a
    /// new epoch is minted before anything is served: every device catches up from the beginning
    /// and recognises its messages by id. Set it for one start only.
    public var isRestored = false
    /// The folder in which `POST /v1/backup` makes a folder for each backup; nil disables the
    /// route.
    public var backups: String?
    /// The most messages that a channel keeps; nil keeps all.
    public var keptMessages: Int64?
    /// How long messages are kept; nil keeps them for ever.
    public var keptFor: Duration?
    /// The server's limits.
    public var limits: ServerLimits
    /// How clients authenticate.
    public var access = Access.open
    /// The required `aud` of a token.
    public var audience = "reprise"
    /// The clock skew allowed for a token's times.
    public var tokenLeeway: Duration = .seconds(60)
    /// Certificate and key for TLS; nil disables TLS.
    public var tls: TLSFiles?
    /// Web pages of these origins may connect, beside the server's own: `https://chat.example.org`.
    public var origins: [String] = []
    /// The push services for devices that are not connected.
    public var push = PushConfiguration()
    /// Whether members of a channel are told who of the others is there, as far as they ask.
    ///
    /// It needs users: see `docs/channels.md`. In a cluster all gateways need the same.
    public var presence = false
    private var makesChannels: Bool?

    /// Whether a channel that nobody made is public.
    ///
    /// Default: true where access is open or for development.
    public var implicitChannels: Bool {
        get { makesChannels ?? AccessMode(access).implicitChannels }
        set { makesChannels = newValue }
    }

    /// Makes a configuration.
    ///
    /// - Parameters:
    ///   - host: the name or address to listen on.
    ///   - port: the port to listen on; 0 takes a free one.
    ///   - data: the folder of the message log; created if missing.
    ///   - limits: the server's limits.
    public init(
        host: String = "127.0.0.1", port: Int = 8_080, data: String,
        limits: ServerLimits = ServerLimits()
    ) {
        self.host = host
        self.port = port
        self.data = data
        self.limits = limits
    }
}

extension ServerConfiguration {
    /// Refuses an invalid or insecure configuration, without touching a file.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.badConfiguration`, with a remedy.
    public func check() throws {
        try checkAccess()
        guard !presence || access != .open else {
            throw RepriseError(
                .badConfiguration, "Presence is of users, and this server asks nobody who he is.",
                remedy: "Give it keys (--keys FILE or --jwks URL) or --dev, "
                    + "or leave out --presence.")
        }
        if case .tokens(.jwks(let url)) = access { _ = try KeySetURL(url) }
        _ = try BrowserRules(origins: origins, asksNobody: false)
        try push.check()
    }

    /// Whether the server is reachable only from this machine.
    package var isLoopback: Bool { LoopbackName.isOne(host) }

    /// The address to listen on: `localhost` is this machine, whatever a resolver answers.
    var listening: String { host.lowercased() == "localhost" ? "127.0.0.1" : host }

    func checkAccess() throws {
        guard !isLoopback else { return }
        switch access {
        case .open:
            throw RepriseError(
                .badConfiguration,
                "On \(host) others reach the server, and it would ask nobody who he is.",
                remedy: "Give it keys to check tokens with (--keys FILE or --jwks URL), "
                    + "or use --host 127.0.0.1.")
        case .tokens(.development):
            throw RepriseError(
                .badConfiguration,
                "--dev gives a token to whoever asks, so it listens on this machine alone, "
                    + "not on \(host).",
                remedy: "Leave out --dev and give --keys FILE or --jwks URL, "
                    + "or use --host 127.0.0.1.")
        case .tokens: break
        }
    }
}
