import Foundation
import Logging
import RepriseCore
import RepriseServer
import RepriseTestSupport
import RepriseTesting
import RepriseWire
import ServiceLifecycle
import Synchronization
import Testing

/// A server on a free port for the time of one test.
struct RunningServer: Sendable {
    let port: Int
    let log: MemoryLog
    let gateway: Gateway
    let group: ServiceGroup

    /// Runs `body` against a server, then shuts it down; what the server throws, this throws.
    ///
    /// With a journal it is a gateway of that cluster, and `log` is not used.
    static func with(
        _ limits: ServerLimits = ServerLimits(), log: MemoryLog? = nil,
        admission: Admission? = nil, authenticator: (any Authenticating)? = nil,
        journal: (any ClusterJournal)? = nil,
        view: ClusterView.Configuration = ClusterView.Configuration(),
        providers: [any PushProvider]? = nil, folder: TemporaryFolder? = nil,
        presence: PresenceExchange.Settings? = nil,
        elsewhere: ConnectedElsewhere.Settings = ConnectedElsewhere.Settings(),
        logger: Logger = RunningServer.logger,
        _ body: (RunningServer) async throws -> Void
    ) async throws {
        let log = try log ?? MemoryLog()
        let own = try TemporaryFolder()
        defer { own.remove() }
        let folder = folder ?? own  // of the accounts
        var openJournal: (@Sendable () async throws -> any ClusterJournal)?
        if let journal { openJournal = { journal } }
        let (ready, isReady) = AsyncStream<(Int, Gateway)>.makeStream()
        var configuration = ServerConfiguration(port: 0, data: folder.path, limits: limits)
        configuration.presence = presence != nil
        // Presence is of users; who asks is told by the given authenticator.
        if presence != nil { configuration.access = .tokens(.development) }
        let server = Server(
            configuration: configuration, logger: logger,
            onReady: { isReady.yield(($0.port, $1)) }, openLog: { log }, openJournal: openJournal,
            view: view, admission: admission, authenticator: authenticator, providers: providers,
            exchange: presence ?? PresenceExchange.Settings(), elsewhere: elsewhere)
        let group = ServiceGroup(
            services: [server], logger: Self.logger)
        async let running: Void = {
            defer { isReady.finish() }
            try await group.run()
        }()
        var ports = ready.makeAsyncIterator()
        if let (port, gateway) = await ports.next() {
            do {
                try await body(RunningServer(port: port, log: log, gateway: gateway, group: group))
            } catch {
                await group.triggerGracefulShutdown()
                throw error
            }
            await group.triggerGracefulShutdown()
        }
        try await running
    }

    static let logger: Logger = {
        var logger = Logger(label: "test")
        logger.logLevel =
            ProcessInfo.processInfo.environment["REPRISE_TEST_LOG"] == nil ? .critical : .debug
        return logger
    }()

    func client(
        hello: Bool = true, device: EntryID = .random(), receiveBuffer: Int32? = nil
    ) async throws -> TestClient {
        try await TestClient.connect(
            port: port, hello: hello, device: device, receiveBuffer: receiveBuffer)
    }
}

extension RunningServer {
    /// How many WebSocket connections there are.
    var connections: Int { gateway.connectionCount }

    /// Stores messages of so many bytes each, through the committer like everybody else.
    func fill(_ channel: ChannelName, messages count: Int, bytes: Int = 10) async throws {
        let body = json(bytes: bytes)
        for start in stride(from: 0, to: count, by: 1_000) {
            let batch = (start..<min(count, start + 1_000)).map { _ in
                NewMessage(channel: channel, id: .random(), body: body)
            }
            _ = try await gateway.committer.commit(batch)
        }
    }
}

func channel(_ name: String = "general") -> ChannelName {
    do { return try ChannelName(name) } catch { preconditionFailure("\(error)") }
}
