import RepriseCore
import ReprisePhone
import Synchronization
import Testing

/// What an app gets of a network that is slow, or that ends.
@Suite("The phone's network", .timeLimit(.minutes(1)))
struct PhoneNetworkTests {
    /// A server behind the network; it does something before it answers.
    private final class Server: HTTPTransport {
        let asked = Mutex(0)
        let before: @Sendable () -> Void

        init(before: @escaping @Sendable () -> Void = {}) { self.before = before }

        func exchange(
            _ request: HTTPCall, head: @Sendable (HTTPHead) async throws -> Void,
            chunk: @Sendable ([UInt8]) async throws -> Void
        ) async throws {
            asked.withLock { $0 += 1 }
            before()
            try await head(HTTPHead(status: 200, headers: [:]))
            try await chunk(Array(repeating: 1, count: 1_000))
        }
    }

    private static func get(_ server: Server, over network: PhonePaths) async throws -> HTTPAnswer {
        try await PhoneTransport(transport: server, network: network).fetch(
            HTTPCall(url: "http://server/v1/forms"), limit: 10_000)
    }

    @Test("a phone that is offline sends no request, and fails as offline")
    func offline() async throws {
        let (server, network) = (Server(), PhonePaths(.off))
        let error = await #expect(throws: RepriseError.self) {
            try await Self.get(server, over: network)
        }
        #expect(error?.code == .unreachable)
        #expect(server.asked.withLock { $0 } == 0)
        network.set(.on)
        #expect(try await Self.get(server, over: network).body.count == 1_000)
    }

    @Test("a slow network takes its latency and then its bytes, no less")
    func slow() async throws {
        let network = PhonePaths(.slow(latencyMilliseconds: 100, bytesPerSecond: 10_000))
        let began = ContinuousClock.now
        _ = try await Self.get(Server(), over: network)
        #expect(.now - began >= .milliseconds(200))
    }

    @Test("a request that waits for a network that ends is not sent")
    func endsBefore() async throws {
        let (server, network) = (
            Server(), PhonePaths(.slow(latencyMilliseconds: 2_000, bytesPerSecond: nil))
        )
        let answer = Task { try await Self.get(server, over: network) }
        network.set(.off)
        await #expect(throws: RepriseError.self) { _ = try await answer.value }
        #expect(server.asked.withLock { $0 } == 0)
    }

    @Test(
        "an answer that is on its way when the network ends does not come, on a fast network neither",
        arguments: [
            PhoneNetwork.on, .slow(latencyMilliseconds: 1, bytesPerSecond: 100_000),
        ])
    func endsDuring(network: PhoneNetwork) async throws {
        let paths = PhonePaths(network)
        let server = Server { paths.set(.off) }
        let error = await #expect(throws: RepriseError.self) {
            try await Self.get(server, over: paths)
        }
        #expect(error?.code == .unreachable)
        #expect(server.asked.withLock { $0 } == 1)
    }
}
