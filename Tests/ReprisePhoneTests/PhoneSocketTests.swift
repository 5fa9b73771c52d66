import RepriseCore
import ReprisePhone
import RepriseTesting
import Testing

/// The end of a WebSocket, which the system reports in more than one way.
@Suite("A WebSocket on the phone", .timeLimit(.minutes(1)))
struct PhoneSocketTests {
    private struct Dialer: SocketDialer {
        let socket: MemorySocket

        func dial(url: String, protocol: String, maximumFrameBytes: Int) async throws
            -> any Socket
        { socket }
    }

    private let server = MemorySocket()
    private let network = PhonePaths(.on)

    private func dial(_ change: (inout PhoneRules) -> Void) async throws -> any Socket {
        var rules = PhoneRules()
        change(&rules)
        return try await PhoneDialer(
            dialer: Dialer(socket: server), network: network, rules: rules
        ).dial(url: "ws://server", protocol: "reprise", maximumFrameBytes: 1_000)
    }

    @Test(
        "a TCP connection that breaks ends each receive, also where its handler is never called",
        arguments: PhoneRules.BrokenSocket.allCases, [true, false])
    func broken(rule: PhoneRules.BrokenSocket, isNetworkLost: Bool) async throws {
        let socket = try await dial { $0.brokenSocket = rule }
        server.push([[1]])
        #expect(try await socket.receive() == [[1]])
        let waiting = Task { try await socket.receive() }
        if isNetworkLost { network.set(.off) } else { server.cut() }
        await #expect(throws: (any Error).self) { try await waiting.value }
        // One that comes after the end has it too.
        await #expect(throws: (any Error).self) { try await socket.receive() }
        #expect(await socket.closeCode == nil)
    }

    @Test(
        "the peer's code is known when receive ends, also where that fails before it",
        arguments: PhoneRules.ClosedSocket.allCases)
    func closed(rule: PhoneRules.ClosedSocket) async throws {
        let socket = try await dial { $0.closedSocket = rule }
        let waiting = Task { try await socket.receive() }
        server.end(code: 4_001)
        #expect(try await waiting.value == nil)
        #expect(await socket.closeCode == 4_001)
    }
}
