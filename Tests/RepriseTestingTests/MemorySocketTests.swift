import RepriseCore
import RepriseTestSupport
import RepriseTesting
import Testing

@Suite("A connection in memory", .timeLimit(.minutes(1)))
struct MemorySocketTests {
    enum End: CaseIterable, Sendable { case close, end, cut }

    @Test("A socket that either side ends has ended for both", arguments: End.allCases)
    func ended(_ end: End) async throws {
        let socket = MemorySocket()
        socket.push([[1]])
        switch end {
        case .close: await socket.close(code: 1_001)
        case .end: socket.end(code: 1_000)
        case .cut: socket.cut()
        }
        try #require(socket.hasEnded)
        #expect(socket.clientCloseCode == (end == .close ? 1_001 : nil))
        #expect(socket.closeCode == (end == .end ? 1_000 : nil))
        #expect(await socket.sent() == nil)
        await #expect(throws: SocketFailure.self) { try await socket.send([[2]]) }
        await #expect(throws: SocketFailure.self) { try await socket.ping() }
        if end == .cut {
            await #expect(throws: SocketFailure.self) { _ = try await socket.receive() }
        } else {
            #expect(try await socket.receive() == [[1]])
            #expect(try await socket.receive() == nil)
        }
    }
}
