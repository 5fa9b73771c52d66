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

        func run() async throws {
            var logger = Logger(label: "bench")
            logger.logLevel = .error
            var configuration = ServerConfiguration(data: data)
            configuration.port = 0
            configuration.limits.connections = 50_000
            if tokens {
                configuration.access = .tokens(.development)
                configuration.limits.publishesPerSecond = 1_000_000
                configuration.limits.publishesAtOnce = 1_000_000
            }
            let server = Server(configuration: configuration, logger: logger) { address in
                FileHandle.standardOutput.write(Data("ready \(address.port)\n".utf8))
            }
            let group = ServiceGroup(
                services: [server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
            try await group.run()
        }
    }
}
