import NIOCore
import NIOWebSocket
import RepriseCore
import RepriseTestSupport
import Testing

@testable import RepriseNIO

@Suite("Backpressure")
struct BackpressureTests {
    private static let chunk = 262_144
    /// 64 MiB: far more than the kernel's buffers and our bound together.
    private static let chunks = 256

    @Test(
        "a reader that does not read holds up the peer, and loses nothing",
        .limit("network.received"))
    func slowReader() async throws {
        let written = SeenSockets<Int>()
        try await TestServer.webSocket { peer in
            try await peer.executeThenClose { inbound, outbound in
                for number in 0..<Self.chunks {
                    let data = ByteBuffer(repeating: UInt8(0x20 + number % 64), count: Self.chunk)
                    try await outbound.write(WebSocketFrame(fin: true, opcode: .text, data: data))
                    await written.note(number)
                }
                for try await _ in inbound {}
            }
        } test: { url in
            let socket = try await dial(url)
            let stalledAt = try await Self.settled(written)
            #expect(stalledAt < Self.chunks / 2, "the peer wrote on although nobody read")
            var read = 0
            while read < Self.chunks {
                for frame in try #require(try await socket.receive()) {
                    #expect(frame.count == Self.chunk)
                    #expect(frame.first == UInt8(0x20 + read % 64))
                    read += 1
                }
            }
            await socket.close(code: 1000)
        }
    }

    @Test("empty frames are not free: enough of them stop the reading too")
    func emptyFrames() async throws {
        let inbox = Inbox()
        inbox.deliver([[UInt8]](repeating: [], count: Inbox.bound / Inbox.frameOverhead - 1))
        #expect(!inbox.isFull)
        inbox.deliver([[]])
        #expect(inbox.isFull)
        let isDrained = SeenSockets<Bool>()
        _ = try await inbox.take { Task { await isDrained.note(true) } }
        #expect(!inbox.isFull)
        try await isDrained.wait(for: 1)
    }

    @Test("a peer that does not read holds up the writer, and close lets it go")
    func slowPeer() async throws {
        try await TestServer.webSocket { peer in
            try await peer.executeThenClose { _, _ in try await Task.sleep(for: .seconds(60)) }
        } test: { url in
            let socket = try await dial(url)
            let written = SeenSockets<Int>()
            let writing = Task {
                for number in 0..<Self.chunks {
                    try await socket.send([[UInt8](repeating: 0x20, count: Self.chunk)])
                    await written.note(number)
                }
            }
            let stalledAt = try await Self.settled(written)
            #expect(stalledAt < Self.chunks / 2, "the writer wrote on although nobody read")
            await socket.close(code: 1000)
            await #expect(throws: SocketFailure.self) { try await writing.value }
        }
    }

    @Test("close works while the reader has left a full inbox behind")
    func closeWhenFull() async throws {
        let closed = SeenSockets<Bool>()
        try await TestServer.webSocket { peer in
            try await peer.executeThenClose { inbound, outbound in
                let data = ByteBuffer(repeating: 0x20, count: Self.chunk)
                for _ in 0..<5 {
                    try await outbound.write(WebSocketFrame(fin: true, opcode: .text, data: data))
                }
                for try await frame in inbound where frame.opcode == .connectionClose {
                    await closed.note(true)
                    try await outbound.write(.close(1000))
                }
            }
        } test: { url in
            let socket = try await dial(url)
            await socket.close(code: 1000)
            #expect(await closed.all.count == 1)
            #expect(await socket.closeCode == 1000)
        }
    }

    /// How much was written when nothing more has been for a while.
    private static func settled(_ written: SeenSockets<Int>) async throws -> Int {
        try await written.wait(for: 1)
        var last = 0
        while true {
            try await Task.sleep(for: .milliseconds(300))
            let now = await written.all.count
            if now == last { return now }
            last = now
        }
    }
}
