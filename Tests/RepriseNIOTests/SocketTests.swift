import NIOCore
import NIOWebSocket
import RepriseCore
import RepriseNIO
import Testing

@Suite("Socket")
struct SocketTests {
    /// Sends back every text frame; hangs up when asked to.
    private static let echo: @Sendable (FramePeer) async throws -> Void = { peer in
        try await peer.executeThenClose { inbound, outbound in
            for try await frame in inbound {
                guard frame.opcode != .connectionClose else { return }
                guard frame.opcode == .text else { continue }
                try await outbound.write(
                    WebSocketFrame(fin: true, opcode: .text, data: frame.unmaskedData))
            }
        }
    }

    /// Sends what it is told, then notes what comes back until it is asked to hang up.
    private static func sending(
        _ frames: [WebSocketFrame], raw: [UInt8] = [], noting seen: SeenSockets<WebSocketFrame>
    ) -> @Sendable (FramePeer) async throws -> Void {
        { peer in
            try await peer.executeThenClose { inbound, outbound in
                try await outbound.write(contentsOf: frames)
                if !raw.isEmpty { try await peer.sendRaw(raw) }
                for try await frame in inbound {
                    await seen.note(frame)
                    guard frame.opcode != .connectionClose else { return }
                }
            }
        }
    }

    @Test("frames of every length come back whole and in order")
    func lengths() async throws {
        try await TestServer.webSocket(serve: Self.echo) { url in
            let socket = try await dial(url)
            let sizes = [0, 1, 3, 4, 125, 126, 127, 65_535, 65_536, 1_048_576]
            let frames = sizes.map { size in (0..<size).map { UInt8(0x20 + $0 % 64) } }
            try await socket.send(frames)
            var back: [[UInt8]] = []
            while back.count < frames.count {
                back += try #require(try await socket.receive())
            }
            #expect(back == frames)
            await socket.close(code: 1000)
        }
    }

    @Test("every frame is masked, each with another key")
    func masks() async throws {
        let seen = SeenSockets<WebSocketFrame>()
        try await TestServer.webSocket(serve: Self.sending([], noting: seen)) { url in
            let socket = try await dial(url)
            try await socket.send([[UInt8]](repeating: Array("same".utf8), count: 64))
            try await seen.wait(for: 64)
            let keys = await seen.all.compactMap { $0.maskKey.map { Array($0) } }
            #expect(keys.count == 64)
            #expect(Set(keys).count > 60)
            await socket.close(code: 1000)
        }
    }

    @Test("writers side by side never mix their batches")
    func writers() async throws {
        try await TestServer.webSocket(serve: Self.echo) { url in
            let socket = try await dial(url)
            try await withThrowingTaskGroup { group in
                for writer in 0..<8 {
                    group.addTask {
                        for round in 0..<25 {
                            let frame = Array("\(writer):\(round)".utf8)
                            try await socket.send([frame, frame])
                        }
                    }
                }
                try await group.waitForAll()
            }
            var back: [[UInt8]] = []
            while back.count < 400 { back += try #require(try await socket.receive()) }
            for pair in stride(from: 0, to: 400, by: 2) { #expect(back[pair] == back[pair + 1]) }
            await socket.close(code: 1000)
        }
    }

    @Test("fragments become one message, and a ping between them is answered")
    func fragments() async throws {
        let seen = SeenSockets<WebSocketFrame>()
        let frames: [WebSocketFrame] = [
            .text("Hel", fin: false),
            WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer(string: "are you there")),
            WebSocketFrame(fin: false, opcode: .continuation, data: ByteBuffer()),
            WebSocketFrame(fin: true, opcode: .continuation, data: ByteBuffer(string: "lo")),
        ]
        try await TestServer.webSocket(serve: Self.sending(frames, noting: seen)) { url in
            let socket = try await dial(url)
            #expect(try await socket.receive() == [Array("Hello".utf8)])
            try await seen.wait(for: 1)
            let pong = try #require(await seen.all.first)
            #expect(pong.opcode == .pong)
            #expect(pong.unmaskedData == ByteBuffer(string: "are you there"))
            await socket.close(code: 1000)
        }
    }

    @Test("frames before the peer's close frame are read, then the end, then its code")
    func peerCloses() async throws {
        let seen = SeenSockets<WebSocketFrame>()
        let frames: [WebSocketFrame] = [.text("a"), .text("b"), .close(4100)]
        try await TestServer.webSocket(serve: Self.sending(frames, noting: seen)) { url in
            let socket = try await dial(url)
            #expect(try await texts(socket) == ["a", "b"])
            #expect(try await socket.receive() == nil)
            #expect(await socket.closeCode == 4100)
            try await seen.wait(for: 1)
            #expect(await seen.all.first?.unmaskedData == ByteBuffer(integer: UInt16(4100)))
            await #expect(throws: SocketFailure.self) { try await socket.send([[0x31]]) }
        }
    }

    @Test(
        "frames that a peer sends before it closes are read, even if they come in one packet with the handshake"
    )
    func cut() async throws {
        try await TestServer.webSocket { peer in
            try await peer.executeThenClose { _, outbound in try await outbound.write(.text("a")) }
        } test: { url in
            // NIO's own client upgrade lost about one in 500 of these.
            for _ in 0..<500 {
                let socket = try await dial(url)
                #expect(try await socket.receive() == [Array("a".utf8)])
                await #expect(throws: SocketFailure.self) { try await socket.receive() }
                #expect(await socket.closeCode == nil)
            }
        }
    }

    @Test(
        "a peer that breaks the protocol gets a close code, and the reader an error",
        arguments: [
            ([0x82, 0x01, 0x31], 1003),  // binary
            ([0xc1, 0x01, 0x31], 1002),  // a reserved bit
            ([0x81, 0x81, 1, 2, 3, 4, 0x30], 1002),  // masked by a server
            ([0x80, 0x01, 0x31], 1002),  // a continuation of nothing
            ([0x01, 0x01, 0x31, 0x01, 0x01, 0x31], 1002),  // a message inside another
            ([0x83, 0x00], 1002),  // an unknown kind
            ([0x88, 0x01, 0x03], 1002),  // half a code
            ([0x81, 0x7f, 0, 0, 0, 0, 0, 0x10, 0, 0x01], 1009),  // one byte too long
            ([0x81, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], nil),  // negative
        ] as [([UInt8], UInt16?)])
    func violations(bytes: [UInt8], code: UInt16?) async throws {
        let seen = SeenSockets<WebSocketFrame>()
        try await TestServer.webSocket(
            serve: Self.sending([.text("before")], raw: bytes, noting: seen)
        ) {
            url in
            let socket = try await dial(url)
            #expect(try await socket.receive() == [Array("before".utf8)])
            await #expect(throws: SocketFailure.self) { try await socket.receive() }
            try await seen.wait(for: 1)
            let frame = try #require(await seen.all.first)
            #expect(frame.opcode == .connectionClose)
            if let code { #expect(frame.unmaskedData == ByteBuffer(integer: code)) }
        }
    }

    @Test("many small fragments do not get past the bound on a message")
    func fragmentsTooLarge() async throws {
        let seen = SeenSockets<WebSocketFrame>()
        let part = ByteBuffer(repeating: 0x20, count: 65_536)
        let frames =
            [.text("", fin: false)]
            + (0..<17).map { _ in WebSocketFrame(fin: false, opcode: .continuation, data: part) }
        try await TestServer.webSocket(serve: Self.sending(frames, noting: seen)) { url in
            let socket = try await dial(url)
            await #expect(throws: SocketFailure.self) { try await socket.receive() }
            try await seen.wait(for: 1)
            #expect(await seen.all.first?.unmaskedData == ByteBuffer(integer: UInt16(1009)))
        }
    }

    @Test(
        "close sends the waiting frames, then the code; the reader ends; a second close does nothing"
    )
    func closes() async throws {
        let seen = SeenSockets<WebSocketFrame>()
        try await TestServer.webSocket { peer in
            try await peer.executeThenClose { inbound, outbound in
                for try await frame in inbound {
                    await seen.note(frame)
                    if frame.opcode == .connectionClose { try await outbound.write(.close(1000)) }
                }
            }
        } test: { url in
            let socket = try await dial(url)
            async let read = socket.receive()
            async let sent: Void = socket.send([Array("last".utf8)])
            try await sent
            await socket.close(code: 1000)
            await socket.close(code: 1001)
            #expect(try await read == nil)
            let frames = await seen.all
            #expect(frames.map(\.opcode) == [.text, .connectionClose])
            #expect(frames.last?.unmaskedData == ByteBuffer(integer: UInt16(1000)))
            #expect(await socket.closeCode == 1000)
        }
    }

    @Test("close does not wait longer than a second for a peer that says nothing")
    func closeAgainstSilence() async throws {
        let ignoring: @Sendable (FramePeer) async throws -> Void = { peer in
            try await peer.executeThenClose { inbound, _ in for try await _ in inbound {} }
        }
        try await TestServer.webSocket(serve: ignoring) { url in
            let socket = try await NIODialer().dial(
                url: url, protocol: TestServer.subprotocol, maximumFrameBytes: 1_024)
            let start = ContinuousClock.now
            await socket.close(code: 1000)
            #expect(ContinuousClock.now - start > .milliseconds(900))
            #expect(ContinuousClock.now - start < .seconds(5))
        }
    }

    @Test("a connection that was forgotten is closed")
    func forgotten() async throws {
        let ended = SeenSockets<Bool>()
        try await TestServer.webSocket { peer in
            try await peer.executeThenClose { inbound, _ in
                for try await _ in inbound {}
            }
            await ended.note(true)
        } test: { url in
            do { _ = try await dial(url) }
            try await ended.wait(for: 1)
        }
    }

    @Test("a cancelled reader ends at once, and the next one gets the next frame")
    func cancelledReader() async throws {
        try await TestServer.webSocket(serve: Self.echo) { url in
            let socket = try await dial(url)
            let reading = Task { try await socket.receive() }
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
            try await socket.send([[0x31]])
            #expect(try await socket.receive() == [[0x31]])
            await socket.close(code: 1000)
        }
    }

    @Test("a peer that sends our own close code back has said nothing; another code is its own")
    func echoedCode() async throws {
        for (answer, code) in [(UInt16(1002), UInt16?.none), (4100, 4100)] {
            try await TestServer.webSocket { peer in
                try await peer.executeThenClose { inbound, outbound in
                    // A reserved bit: the frame decoder lets it pass, so that what follows is still
                    // read.
                    try await peer.sendRaw([0xc1, 0x00])
                    for try await frame in inbound where frame.opcode == .connectionClose {
                        try await outbound.write(.close(answer))
                    }
                }
            } test: { url in
                let socket = try await dial(url)
                await #expect(throws: SocketFailure.self) { _ = try await texts(socket) }
                await socket.close(code: 1000)
                #expect(await socket.closeCode == code)
            }
        }
    }
}
