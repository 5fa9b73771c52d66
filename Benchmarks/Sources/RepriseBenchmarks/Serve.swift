import ArgumentParser
import Foundation
import Logging
import RepriseServer
import ServiceLifecycle

extension Main {
    /// The server under measurement, in a process of its own.
    struct Serve: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "serve-reprise", shouldDisplay: false)

        @Option var data: String
        @Flag var tokens = false
        /// The least level of its log, which goes to standard error.
        @Option var log = "error"
        /// Where a stand-in for Apple listens, or one for a browser's push service; their keys and
        /// certificate are in `pushFiles`.
        @Option var apns: String?
        @Option var web: String?
        @Option var pushFiles: String?

        func run() async throws {
            LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
            var logger = Logger(label: "bench")
            logger.logLevel = Logger.Level(rawValue: log) ?? .error
            var configuration = ServerConfiguration(data: data)
            configuration.port = 0
            configuration.limits.connections = 50_000
            if tokens {
                configuration.access = .tokens(.development)
                configuration.limits.publishesPerSecond = 1_000_000
                configuration.limits.publishesAtOnce = 1_000_000
            }
            configuration.push = push
            let server = Server(configuration: configuration, logger: logger) { address in
                FileHandle.standardOutput.write(Data("ready \(address.port)\n".utf8))
            }
            let group = ServiceGroup(
                services: [server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
            try await group.run()
        }

        private var push: PushConfiguration {
            var push = PushConfiguration()
            guard let files = pushFiles else { return push }
            if let apns {
                push.apns = APNsSettings(
                    keyFile: files + "/apns.p8", keyID: "KEY0000001", teamID: "TEAM000001",
                    topic: "org.example.chat", environment: .custom(apns))
                push.apns?.authorities = files + "/cert.pem"
            }
            if web != nil {
                push.webPush = WebPushSettings(
                    keyFile: files + "/vapid.pem", subject: "mailto:push@example.org")
                push.webPush?.authorities = files + "/cert.pem"
                push.webPush?.allowsPrivate = true
            }
            return push
        }
    }
}
