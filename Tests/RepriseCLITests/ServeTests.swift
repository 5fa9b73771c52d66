import Foundation
import GRDB
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import Testing

@testable import RepriseCLI

@Suite("serve")
struct ServeTests {
    @Test(
        "the server prints its address in one line, and SIGTERM ends it well within 5 s",
        arguments: [SIGTERM, SIGINT])
    func ready(signal: Int32) async throws {
        let folder = try TemporaryFolder()
        let tool = try RunningTool(["serve", "--port", "0", "--data", folder.path("data")])
        try await tool.wait("the ready line") { $0.contains("\n") }
        #expect(tool.output.split(separator: "\n").count == 1)
        #expect(tool.output.contains(try Regex("http://127.0.0.1:[1-9][0-9]*")))
        tool.signal(signal)
        #expect(await tool.end() == 0)
        #expect(tool.error.contains("authentication is off"))
    }

    @Test("a flag goes before the environment, the environment before the file")
    func precedence() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            #"{"host": "127.0.0.3", "port": 3, "data": "three", "dev": true, "logLevel": "error", "keepDays": 7}"#,
            to: "config.json")
        let flags = ServeSettings.Flags(port: 1, connectionsPerAddress: 8)
        let environment = [
            "REPRISE_PORT": "2", "REPRISE_HOST": "127.0.0.2", "REPRISE_KEEP_MESSAGES": "5",
            "REPRISE_CONNECTIONS_PER_ADDRESS": "9", "REPRISE_CONNECTIONS_PER_USER": "10",
        ]
        let settings = try await ServeSettings(flags: flags, environment: environment, file: file)
        #expect(settings.port == 1)
        #expect(settings.host == "127.0.0.2")
        #expect(settings.data == "three")
        #expect(settings.keepMessages == 5)
        #expect(settings.keepDays == 7)
        #expect(settings.isDevelopment)
        #expect(settings.configuration.limits.httpConnectionsPerAddress == 8)
        #expect(settings.configuration.limits.connectionsPerUser == 10)
        #expect("\(settings.logLevel)" == "error")
    }

    @Test("presence is off but where it is asked for, and needs users; a cluster has it too")
    func presence() async throws {
        func settings(
            _ flags: ServeSettings.Flags, _ environment: [String: String] = [:]
        ) async throws -> ServeSettings {
            try await ServeSettings(flags: flags, environment: environment, file: nil)
        }
        #expect(try await !settings(.init(isDevelopment: true)).configuration.presence)
        let flags = ServeSettings.Flags(isDevelopment: true, hasPresence: true)
        #expect(try await settings(flags).configuration.presence)
        let environment = ["REPRISE_PRESENCE": "true", "REPRISE_DEV": "true"]
        #expect(try await settings(.init(), environment).configuration.presence)
        let nobody = await #expect(throws: RepriseError.self) {
            try await settings(.init(hasPresence: true))
        }
        #expect(nobody?.code == .badConfiguration)
        #expect(nobody?.remedy?.contains("--presence") == true)
        #if Cluster
            var inCluster = flags
            inCluster.cluster.log = "nats://127.0.0.1:1"
            #expect(try await settings(inCluster).configuration.presence)
        #endif
    }

    @Test("without settings it listens on this machine alone")
    func defaults() async throws {
        let settings = try await ServeSettings(flags: .init(), environment: [:], file: nil)
        #expect(settings.host == "127.0.0.1")
        #expect(settings.port == 8_080)
        #expect(settings.data == "reprise-data")
        #expect(settings.access == .open)
        #expect(settings.keepMessages == nil)
        #expect(settings.keepDays == nil)
    }

    @Test("only --restored gives the log a new epoch, and only to a log that is there")
    func restored() async throws {
        let folder = try TemporaryFolder()
        let data = folder.path("data")
        var epochs: [String?] = []
        for flags in [[], [], ["--restored"], []] {
            let tool = try RunningTool(["serve", "--port", "0", "--data", data] + flags)
            try await tool.wait("the ready line") { $0.contains("\n") }
            tool.signal(SIGTERM)
            #expect(await tool.end() == 0)
            let log = try DatabaseQueue(path: data + "/messages.sqlite")
            epochs.append(
                try await log.read { try String.fetchOne($0, sql: "SELECT epoch FROM log") })
            try log.close()
        }
        #expect(epochs[0] != nil)
        #expect(epochs[0] == epochs[1])
        #expect(epochs[2] != epochs[1])
        #expect(epochs[3] == epochs[2])

        let tool = try RunningTool([
            "serve", "--port", "0", "--data", folder.path("empty"), "--restored",
        ])
        #expect(await tool.end() == 65)
        #expect(tool.error.contains("no message log"))
    }

    @Test("the server ends with the process that holds its input, if an option says so")
    func orphan() async throws {
        let folder = try TemporaryFolder()
        let tool = try RunningTool([
            "serve", "--port", "0", "--data", folder.path("data"), "--until-input-ends",
        ])
        try await tool.wait("the ready line") { $0.contains("\n") }
        tool.closeInput()
        #expect(await tool.end() == 0)
    }
}
