import ArgumentParser
import Foundation
import Logging
import RepriseCommandLine
import RepriseCore
import RepriseServer
import RepriseWire
import ServiceLifecycle

/// `reprise serve`: runs a server.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run a server.",
        usage: """
            reprise serve [--host HOST] [--port PORT] [--data DIR]
                          [--log URL [--cluster NAME]]
                          [--dev | --keys FILE | --jwks URL] [--audience NAME]
                          [--tls-cert FILE --tls-key FILE] [--origin URL ...]
                          [--connections-per-user COUNT]
                          [--publishes-per-second COUNT] [--presence]
                          [--keep-messages COUNT] [--keep-days DAYS]
                          [--backups DIR] [--restored]
                          [--apns-key FILE --apns-key-id ID --apns-team ID
                           --apns-topic NAME [--apns-environment NAME]]
                          [--vapid-key FILE --vapid-subject URL]
                          [--web-push-private] [--push-dry-run]
                          [--config FILE] [--log-level LEVEL] [--json]
            """,
        discussion: """
            Stores messages in DIR and serves HTTP and WebSocket on one port. Prints
            one line with its URL when it is ready. SIGTERM and SIGINT end it within
            5 s: it stores and acknowledges what it has accepted, ends streams of
            lines with a closing line, and tells clients to reconnect.

            AUTHENTICATION
              --keys, --jwks  requires a JSON Web Token signed with ES256 or HS256 by
                              one of these keys, for the audience. FILE is a JSON Web
                              Key Set, a PEM or a secret in base64.
              --dev           the same, with a key of its own; issues tokens to
                              anybody on this machine: see reprise token.
              none of them    no authentication and no users. On this machine only;
                              with another --host it refuses to start.

            RELOADING
              SIGHUP reloads keys and certificate; connections stay. An invalid file
              changes nothing.

            BACKUPS
              With --backups DIR, POST /v1/backup by an admin makes one there while the
              server runs; so does reprise backup, from the command line. reprise
              restore puts one in place. A backup lacks what was stored after it, and
              its next sequences were used before: so the log gets a new epoch. Devices
              catch up from the beginning, recognise messages by id, and count missing
              ones as lost. After files were put in place by hand, start once with
              --restored.

            CLUSTER
              With --log, messages, channels and members are in NATS JetStream, and DIR
              holds a copy of them that may be removed. Start as many servers as you
              like with the same --log and --cluster, each with a DIR of its own. --log
              takes several servers: nats://n1:4222,n2:4222,n3:4222. Credentials:
              --log-user and --log-password-file, --log-token-file, --log-nkey or
              --log-creds; --log-ca for an authority of your own. See docs/cluster.md.

            PUSH
              A message is pushed to a member's device that has no connection, within
              a second, or has not received it within 5 s: by APNs with a .p8 key, its
              id, the team and the app's bundle id as topic; by Web Push with a key of
              your own on P-256 and a mailto: or https: URL. --push-dry-run logs pushes
              and sends none. See docs/push.md.

            CONFIGURATION
              Precedence: flags, environment, file.

              flag             environment            file
              --host           REPRISE_HOST           host
              --port           REPRISE_PORT           port
              --data           REPRISE_DATA           data
              --keep-messages  REPRISE_KEEP_MESSAGES  keepMessages
              --keep-days      REPRISE_KEEP_DAYS      keepDays
              --backups        REPRISE_BACKUPS        backups
              --dev            REPRISE_DEV            dev
              --keys           REPRISE_KEYS           keys
              --jwks           REPRISE_JWKS           jwks
              --audience       REPRISE_AUDIENCE       audience
              --tls-cert       REPRISE_TLS_CERT       tlsCert
              --tls-key        REPRISE_TLS_KEY        tlsKey
              --origin         REPRISE_ORIGINS        origins
              --connections-per-user
                       REPRISE_CONNECTIONS_PER_USER   connectionsPerUser
              --connections-per-address
                       REPRISE_CONNECTIONS_PER_ADDRESS  connectionsPerAddress
              --publishes-per-second
                       REPRISE_PUBLISHES_PER_SECOND   publishesPerSecond
              --presence       REPRISE_PRESENCE       presence
              --apns-key       REPRISE_APNS_KEY       apnsKey
              --apns-key-id    REPRISE_APNS_KEY_ID    apnsKeyId
              --apns-team      REPRISE_APNS_TEAM      apnsTeam
              --apns-topic     REPRISE_APNS_TOPIC     apnsTopic
              --apns-environment
                       REPRISE_APNS_ENVIRONMENT       apnsEnvironment
              --apns-ca        REPRISE_APNS_CA        apnsCa
              --vapid-key      REPRISE_VAPID_KEY      vapidKey
              --vapid-subject  REPRISE_VAPID_SUBJECT  vapidSubject
              --web-push-private
                       REPRISE_WEB_PUSH_PRIVATE       webPushPrivate
              --push-dry-run   REPRISE_PUSH_DRY_RUN   pushDryRun
              --log            REPRISE_LOG            log
              --cluster        REPRISE_CLUSTER        cluster
              --log-user       REPRISE_LOG_USER       logUser
              --log-password-file
                       REPRISE_LOG_PASSWORD_FILE      logPasswordFile
              --log-token-file REPRISE_LOG_TOKEN_FILE logTokenFile
              --log-nkey       REPRISE_LOG_NKEY       logNkey
              --log-creds      REPRISE_LOG_CREDS      logCreds
              --log-ca         REPRISE_LOG_CA         logCa
              --log-cert       REPRISE_LOG_CERT       logCert
              --log-cert-key   REPRISE_LOG_CERT_KEY   logCertKey
              --journal-bytes  REPRISE_JOURNAL_BYTES  journalBytes
              --erase-within   REPRISE_ERASE_WITHIN   eraseWithin
              --log-level      REPRISE_LOG_LEVEL      logLevel

              The file is JSON: {"port": 8080, "data": "/var/lib/reprise"}

            EXAMPLES
              reprise serve
              reprise serve --dev
              reprise serve --port 0 --data /tmp/try
              reprise serve --host 0.0.0.0 --keys keys.json
                  --tls-cert chain.pem --tls-key key.pem
              reprise serve --log nats://n1:4222,n2:4222,n3:4222 --data ./view
                  --keys keys.json --host 0.0.0.0
              REPRISE_PORT=9000 reprise serve --config reprise.json

            EXIT CODES
              0 ended by a signal; 1 so too, but not in 5 s; 65 DIR is not a message
              log; 74 disk; 75 the port or DIR is taken; 77 no permission;
              78 configuration.
              All: reprise --help
            """)

    @Option(help: "The name or address to listen on. (default: 127.0.0.1)")
    var host: String?
    @Option(help: "The port; 0 takes a free one. (default: 8080)")
    var port: Int?
    @Option(
        help: ArgumentHelp(
            "Where messages are stored; made if it is not there. (default: reprise-data)",
            valueName: "dir"))
    var data: String?
    @Option(
        help: ArgumentHelp(
            "How many messages a channel keeps at most. (default: all)", valueName: "count"))
    var keepMessages: Int?
    @Option(
        help: ArgumentHelp("How long messages are kept. (default: for ever)", valueName: "days"))
    var keepDays: Int?
    @Option(
        help: ArgumentHelp(
            "Where POST /v1/backup makes its backups. (default: it is refused)", valueName: "dir"))
    var backups: String?
    @Flag(help: "DIR was restored from a backup: give the log a new epoch, this once.")
    var restored = false
    @Flag(help: "For development: give tokens to whoever asks on this machine, and log more.")
    var dev = false
    @Option(help: ArgumentHelp("The keys that tokens are signed with.", valueName: "file"))
    var keys: String?
    @Option(help: ArgumentHelp("Where the set of keys is, over https.", valueName: "url"))
    var jwks: String?
    @Option(
        help: ArgumentHelp(
            "What the aud of a token must name. (default: reprise)", valueName: "name"))
    var audience: String?
    @Option(help: ArgumentHelp("The certificate and its chain, in PEM.", valueName: "file"))
    var tlsCert: String?
    @Option(help: ArgumentHelp("The key of the certificate, in PEM.", valueName: "file"))
    var tlsKey: String?
    @Option(
        help: ArgumentHelp(
            "Web pages of this origin may connect; may be repeated.", valueName: "url"))
    var origin: [String] = []
    @Option(
        help: ArgumentHelp(
            "How many connections a user has at most. (default: 32)", valueName: "count"))
    var connectionsPerUser: Int?
    @Option(
        help: ArgumentHelp(
            "How many connections that are no WebSockets, or not welcomed yet, an address has at most; raise it behind a proxy. (default: 2000)",
            valueName: "count"))
    var connectionsPerAddress: Int?
    @Option(
        help: ArgumentHelp(
            "How many messages a user publishes a second. (default: 200)", valueName: "count"))
    var publishesPerSecond: Int?
    @Flag(help: "Tell members of a channel who of the others is online, idle, and was last seen.")
    var presence = false
    @OptionGroup(title: "Cluster") var cluster: ClusterOptions
    @OptionGroup(title: "Push") var push: PushOptions
    @Option(help: ArgumentHelp("Read settings from a JSON file.", valueName: "file"))
    var config: String?
    @Option(
        help: ArgumentHelp(
            "trace, debug, info, notice, warning, error or critical, to standard error. (default: notice)",
            valueName: "level"))
    var logLevel: String?
    @Flag(help: "Print the ready line as JSON.") var json = false
    @Flag(help: .hidden) var untilInputEnds = false

    func run() async throws {
        let settings = try await ServeSettings(
            flags: .init(
                host: host, port: port, data: data, keepMessages: keepMessages,
                keepDays: keepDays, backups: backups, isDevelopment: dev ? true : nil, keys: keys,
                jwks: jwks, audience: audience, tlsCertificate: tlsCert, tlsKey: tlsKey,
                origins: origin,
                connectionsPerUser: connectionsPerUser,
                connectionsPerAddress: connectionsPerAddress,
                publishesPerSecond: publishesPerSecond, hasPresence: presence ? true : nil,
                push: push.flags, cluster: cluster.flags, logLevel: logLevel),
            environment: ProcessInfo.processInfo.environment, file: config)
        var logger = Logger(label: "reprise")
        logger.logLevel = settings.logLevel
        var configuration = settings.configuration
        configuration.isRestored = restored
        guard !restored || settings.cluster == nil else {
            throw RepriseError(
                .badConfiguration, "A cluster is not restored by a flag: its journal is the truth.",
                remedy: "Leave out --restored.")
        }
        let server = server(configuration, settings, logger)
        if settings.isDevelopment { Self.warn() }
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = [
            .init(service: server),
            .init(service: ReloadWatch(server: server), successTerminationBehavior: .ignore),
            EndingSignals.service,
        ]
        if untilInputEnds { services.append(InputWatch.service) }
        // At debug it writes each service with all that is in it: kilobytes of our own structures.
        logger.logLevel = max(logger.logLevel, .info)
        let group = ServiceGroupConfiguration(services: services, logger: logger)
        try await ServiceGroup(configuration: group).run()
    }

    private func server(
        _ configuration: ServerConfiguration, _ settings: ServeSettings, _ logger: Logger
    ) -> Server {
        let onReady: @Sendable (Server.Address) async -> Void = { announce($0, settings) }
        guard let cluster = settings.cluster else {
            return Server(configuration: configuration, logger: logger, onReady: onReady)
        }
        return Server(
            configuration: configuration, logger: logger, onReady: onReady,
            schedule: cluster.schedule
        ) { try await cluster.open(logger) }
    }

    /// Warns that it is not a server for production.
    private static func warn() {
        Terminal.error.writeLine(
            "reprise: --dev: for development. Whoever is on this machine gets a token for any user."
        )
    }

    private func announce(_ address: Server.Address, _ settings: ServeSettings) {
        let mode = settings.isDevelopment ? " for development" : ""
        let place = settings.cluster.map { "cluster \($0.description)" }
        var line =
            "Reprise is ready\(mode) at \(address.url) (\(place ?? "messages in \(settings.data)"))"
        if json {
            var writer = JSONWriter()
            writer.object { json in
                json.key("url")
                json.string(address.url)
                json.key("host")
                json.string(address.host)
                json.key("port")
                json.integer(Int64(address.port))
                json.key("data")
                json.string(settings.data)
                if let cluster = settings.cluster {
                    json.key("log")
                    json.string(cluster.description)
                }
                guard settings.isDevelopment else { return }
                json.key("dev")
                json.bool(true)
            }
            line = String(decoding: writer.bytes, as: UTF8.self)
        }
        // A closed output must not end the server.
        try? StandardOutput.write(line)
    }
}
