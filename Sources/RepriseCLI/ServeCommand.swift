import ArgumentParser
import Foundation
import Logging
import RepriseCore
import RepriseServer
import RepriseWire
import ServiceLifecycle
import UnixSignals

/// `reprise serve`: runs a server.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run a server.",
        usage: """
            reprise serve [--host HOST] [--port PORT] [--data DIR] [--dev]
                          [--keep-messages COUNT] [--keep-days DAYS] [--restored]
                          [--config FILE] [--log-level LEVEL] [--json]
            """,
        discussion: """
            Stores messages in DIR and serves HTTP and WebSocket on one port. Prints
            one line with its URL when it is ready. SIGTERM and SIGINT end it within
            5 s: what was accepted is stored and acknowledged, and clients are told to
            come back.

            There is no authentication yet: who reaches the port may read and publish.
            That is why it listens on this machine alone unless --host says otherwise.

            RESTORING A BACKUP
              Put the backup's messages.sqlite into DIR, remove messages.sqlite-wal and
              messages.sqlite-shm, and start with --restored once. The backup lacks
              what was stored after it, and a sequence that a device has seen may be
              given again, to another message. So the log gets a new epoch: devices
              catch up from the beginning, know by id what they have, and count the
              rest as lost. It is a flag alone, because in a file it would make every
              start a restore.

            CONFIGURATION
              A flag goes before the environment, the environment before the file.

              flag             environment            file
              --host           REPRISE_HOST           host
              --port           REPRISE_PORT           port
              --data           REPRISE_DATA           data
              --keep-messages  REPRISE_KEEP_MESSAGES  keepMessages
              --keep-days      REPRISE_KEEP_DAYS      keepDays
              --dev            REPRISE_DEV            dev
              --log-level      REPRISE_LOG_LEVEL      logLevel

              The file is JSON: {"port": 8080, "data": "/var/lib/reprise"}

            EXAMPLES
              reprise serve
              reprise serve --port 0 --data /tmp/try
              REPRISE_PORT=9000 reprise serve --config reprise.json

            EXIT CODES
              0 ended by a signal; 65 DIR is not a message log; 74 disk; 75 the port
              or DIR is taken; 77 no permission; 78 configuration.
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
    @Flag(help: "DIR was restored from a backup: give the log a new epoch, this once.")
    var restored = false
    @Flag(help: "For development: refuse to listen beyond this machine, and log more.")
    var dev = false
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
                keepDays: keepDays, isDevelopment: dev ? true : nil, logLevel: logLevel),
            environment: ProcessInfo.processInfo.environment, file: config)
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        var logger = Logger(label: "reprise")
        logger.logLevel = settings.logLevel
        var configuration = settings.configuration
        configuration.isRestored = restored
        let server = Server(configuration: configuration, logger: logger) { address in
            announce(address, settings)
        }
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = [.init(service: server)]
        if untilInputEnds { services.append(InputWatch.service) }
        let group = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await ServiceGroup(configuration: group).run()
    }

    private func announce(_ address: Server.Address, _ settings: ServeSettings) {
        var line = "Reprise is ready at \(address.url) (messages in \(settings.data))"
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
            }
            line = String(decoding: writer.bytes, as: UTF8.self)
        }
        // Who started the server may not read on; that is no reason not to serve.
        try? StandardOutput.write(line)
    }
}
