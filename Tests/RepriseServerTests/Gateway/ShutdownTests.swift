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

@Suite("Starting and stopping")
struct ShutdownTests {
    @Test(
        "at shutdown under load accepted messages are acknowledged, clients are told to come back, and the log is closed"
    )
    func underLoad() async throws {
        let log = try MemoryLog()
        log.change { $0.appendDelay = .milliseconds(5) }
        let tally = Tally()
        try await RunningServer.with(log: log) { server in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for _ in 0..<16 {
                    tasks.addTask {
                        let ending = try await Self.publishUntilTheEnd(server, tally)
                        tally.change { $0.endings.append(ending) }
                    }
                }
                try await eventually("all of them publish") {
                    tally.now.publishers == 16 && tally.now.acknowledged.count > 200
                }
                tally.change { $0.began = .now }
                await server.group.triggerGracefulShutdown()
                try await tasks.waitForAll()
            }
        }
        let result = tally.now
        #expect(ContinuousClock.now - result.began < .seconds(30))
        #expect(result.endings == Array(repeating: CloseCode.goingAway.number, count: 16))
        let (stored, isClosed) = log.state.withLock { (Set($0.ids.keys), $0.isClosed) }
        #expect(isClosed)
        // Whatever was stored, its publisher, still connected, was told of; and nothing else.
        #expect(result.acknowledged == stored)
    }

    /// What the clients saw.
    final class Tally: Sendable {
        struct State {
            var acknowledged: Set<EntryID> = []
            var publishers = 0
            var endings: [UInt16?] = []
            var began = ContinuousClock.now
        }

        private let state = Mutex(State())

        var now: State { state.withLock { $0 } }

        func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    }

    /// Keeps 16 publishes in flight.
    ///
    /// - Returns: the close code.
    private static func publishUntilTheEnd(
        _ server: RunningServer, _ tally: Tally
    ) async throws -> UInt16? {
        let client = try await server.client()
        tally.change { $0.publishers += 1 }
        func publish(_ count: Int) async throws {
            try await client.send(
                (0..<count).map { _ in
                    .publish(.init(channel: channel(), id: .random(), body: json(bytes: 100)))
                })
        }
        try await publish(16)
        while true {
            switch try await client.next() {
            case .frame(.published(let published)):
                tally.change { $0.acknowledged.insert(published.id) }
                try? await publish(1)
            case .close(let code): return code
            case .ended: return nil
            case .frame, .ping, .pong: continue
            }
        }
    }

    @Test(
        "a client that does not answer the close frame, and a request that does not end, are cut off",
        .limit("server.shutdown")
    )
    func stubborn() async throws {
        var limits = ServerLimits()
        limits.shutdown = .seconds(4)
        limits.closeHandshake = .seconds(2)
        var began = ContinuousClock.now
        try await RunningServer.with(limits) { server in
            let stubborn = try await server.client()
            let upload = try PlainSocket(port: server.port)
            try await upload.send(
                "POST /v1/channels/general/messages HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
            try await stubborn.socket.send(TestClient.frame(0x89, []))
            #expect(try await stubborn.next() == .pong([]))
            began = .now
            await server.group.triggerGracefulShutdown()
            #expect(try await stubborn.ending().1 == CloseCode.goingAway.number)
            _ = try await upload.receiveAll()
        }
        #expect(ContinuousClock.now - began < .seconds(30))
    }

    @Test("a port in use is a typed error with its remedy")
    func portInUse() async throws {
        try await RunningServer.with { first in
            let folder = try TemporaryFolder()
            defer { folder.remove() }
            let second = Server(
                configuration: ServerConfiguration(port: first.port, data: folder.path),
                logger: RunningServer.logger, onReady: { _, _ in }, openLog: { try MemoryLog() })
            let error = await #expect(throws: RepriseError.self) { try await second.run() }
            #expect(error?.code == .portInUse)
            #expect(error?.remedy != nil)
        }
    }

    @Test(
        "a host that is not of this machine is a typed error",
        arguments: ["192.0.2.1", "no.such.host.invalid"])
    func foreignHost(_ host: String) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let server = Server(
            configuration: ServerConfiguration(host: host, port: 0, data: folder.path),
            logger: RunningServer.logger, onReady: { _, _ in }, openLog: { try MemoryLog() })
        let error = await #expect(throws: RepriseError.self) { try await server.run() }
        #expect(error?.code == .badConfiguration)
        #expect(error?.remedy != nil)
    }

    @Test("a log that cannot be opened ends the server before it listens")
    func brokenLog() async throws {
        let server = Server(
            configuration: ServerConfiguration(port: 0, data: ""), logger: RunningServer.logger,
            onReady: { _, _ in Issue.record("it listens") },
            openLog: { throw RepriseError(.corrupt, "Broken.") })
        await expectError(.corrupt) { try await server.run() }
    }
}
