import Foundation
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import RepriseNIO

@Suite("Handshake and close, byte by byte")
struct HandshakeTests {
    @Test("a head beyond the limit is refused, in one piece as in several", arguments: [1, 2])
    func longHead(pieces: Int) throws {
        let head = "HTTP/1.1 101 x\r\nA: " + String(repeating: "y", count: 20_000) + "\r\n\r\n"
        let bytes = Array(head.utf8)
        var received = ByteBuffer()
        var searched = 0
        #expect(throws: HandshakeResponse.Malformed.self) {
            for piece in 0..<pieces {
                let start = bytes.count * piece / pieces
                received.writeBytes(bytes[start..<bytes.count * (piece + 1) / pieces])
                _ = try HandshakeResponse(readingFrom: &received, searched: &searched)
            }
        }
    }

    @Test("a head that comes byte by byte is read in time linear in its length")
    func bytewise() throws {
        // Four times as long takes four times as long, and would take sixteen times if every byte
        // were searched for anew.
        #expect(try timeToReadBytewise(16_000) < timeToReadBytewise(4_000) * 10)
    }

    /// The processor's time, so that neither other programs nor a sanitizer matter.
    private func timeToReadBytewise(_ length: Int) throws -> Double {
        let head = "HTTP/1.1 101 x\r\nA: " + String(repeating: "y", count: length) + "\r\n\r\n"
        var received = ByteBuffer()
        var searched = 0
        var status: Int?
        let start = clock()
        for byte in head.utf8 {
            received.writeInteger(byte)
            status = try HandshakeResponse(readingFrom: &received, searched: &searched)?.status
        }
        #expect(status == 101)
        return Double(clock() - start)
    }

    @Test("nothing is kept of what comes behind a handshake that has failed")
    func afterFailure() throws {
        let channel = EmbeddedChannel()
        let transport = SlowClose()
        defer {
            transport.mayClose = true
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }
        let handler = HandshakeHandler(
            request: HandshakeRequest(
                endpoint: try Endpoint("ws://127.0.0.1:1/v1/connect"), subprotocol: ""),
            maximumFrameBytes: 1_000, closeTimeout: .seconds(1),
            promise: channel.eventLoop.makePromise(of: NIOSocket.self))
        try channel.pipeline.syncOperations.addHandler(transport)
        try channel.pipeline.syncOperations.addHandler(handler)
        try channel.writeInbound(ByteBuffer(string: "SSH-2.0-OpenSSH_9.6\r\n"))
        for _ in 0..<3 { try channel.writeInbound(ByteBuffer(repeating: 0x20, count: 65_536)) }
        #expect(handler.received.readableBytes == 0)
    }

    /// Closes in its time, as a connection with TLS does.
    private final class SlowClose: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var mayClose = false

        func close(
            context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
        ) {
            if mayClose { context.close(mode: mode, promise: promise) }
        }
    }

    @Test(
        "a close code that must not be sent breaks the protocol",
        arguments: [0, 999, 1_004, 1_005, 1_006, 1_015, 2_999, 5_000] as [UInt16])
    func reservedCode(code: UInt16) {
        #expect(
            step(ByteBuffer(integer: code)) == .violation(1002, "The close code must not be sent."))
    }

    @Test(
        "a close code that may be sent is taken",
        arguments: [1_000, 1_013, 3_000, 4_200] as [UInt16])
    func code(code: UInt16) {
        #expect(step(ByteBuffer(integer: code)) == .close(code))
    }

    @Test("the reason of a close is UTF-8")
    func reason() {
        #expect(
            step(ByteBuffer(bytes: [0x03, 0xe8, 0xff]))
                == .violation(1007, "The reason is not UTF-8."))
    }

    private func step(_ payload: ByteBuffer) -> MessageAssembler.Step {
        var assembler = MessageAssembler(maximumBytes: 100)
        return assembler.frameReceived(
            WebSocketFrame(fin: true, opcode: .connectionClose, data: payload))
    }
}
