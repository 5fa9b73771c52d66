import NIOCore
import NIOPosix

/// A WebSocket client that does as little as a client can.
///
/// It upgrades, sends what it is given, and finds the frames in what comes back. So what is
/// measured is the server, as far as that is possible on the same machine.
final class RawConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Frames received since the upgrade, the server's control frames not counted.
    private(set) var frames = 0
    /// Bytes of those frames.
    private(set) var bytes = 0
    /// Called with the text of each frame, if set.
    var onText: ((ByteBufferView) -> Void)?
    /// Called after each read that brought frames.
    var onRead: ((RawConnection) -> Void)?

    private var isOpen = false
    private var pending: ByteBuffer?
    private let opened: EventLoopPromise<Void>
    private(set) var context: ChannelHandlerContext?

    init(opened: EventLoopPromise<Void>) { self.opened = opened }

    /// Connects, upgrades and says hello.
    static func open(
        to server: ServerProcess.Address, device: String, on loop: any EventLoop,
        configure: @escaping @Sendable (RawConnection) -> Void = { _ in }
    ) async throws -> NIOLoopBound<RawConnection> {
        let opened = loop.makePromise(of: Void.self)
        let bound: NIOLoopBound<RawConnection> = try await loop.submit {
            NIOLoopBound(RawConnection(opened: opened), eventLoop: loop)
        }.get()
        _ = try await ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 65_536)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    configure(bound.value)
                    try channel.pipeline.syncOperations.addHandler(bound.value)
                }
            }
            .connect(host: server.host, port: server.port).get()
        try await opened.futureResult.get()
        let credentials = try server.credentials(of: device)
        try await loop.submit {
            bound.value.send(
                #"{"type":"hello","version":1,"device":"\#(device)","client":"bench"\#(credentials)}"#
            )
        }.get()
        return bound
    }

    /// Sends a text frame; call it on the loop.
    func send(_ text: String, flush: Bool = true) {
        guard let context else { return }
        var buffer = context.channel.allocator.buffer(capacity: text.utf8.count + 14)
        Self.writeFrame(text, into: &buffer)
        context.write(wrapOutboundOut(buffer), promise: nil)
        if flush { context.flush() }
    }

    func flush() { context?.flush() }

    /// From now on what comes stays in the system's buffers, and then with the server.
    func stopReading() {
        try? context?.channel.syncOptions?.setOption(.autoRead, value: false)
    }

    /// A client's frame, masked with zeros: valid to the server, free for us.
    static func writeFrame(_ text: String, into buffer: inout ByteBuffer) {
        let count = text.utf8.count
        buffer.writeInteger(UInt8(0x81))
        if count < 126 {
            buffer.writeInteger(UInt8(count) | 0x80)
        } else if count < 65_536 {
            buffer.writeInteger(UInt8(126) | 0x80)
            buffer.writeInteger(UInt16(count))
        } else {
            buffer.writeInteger(UInt8(127) | 0x80)
            buffer.writeInteger(UInt64(count))
        }
        buffer.writeInteger(UInt32(0))
        buffer.writeString(text)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelActive(context: ChannelHandlerContext) {
        let request = """
            GET /v1/connect HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: reprise.v1\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
            """
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        if var rest = pending, rest.readableBytes > 0 {
            rest.writeBuffer(&buffer)
            buffer = rest
        }
        pending = nil
        if !isOpen, !upgrade(&buffer) {
            pending = buffer
            return
        }
        while let count = Self.frameLength(buffer),
            buffer.readableBytes >= count.header + count.body
        {
            if count.isText {
                frames += 1
                bytes += count.header + count.body
                if let onText {
                    let start = buffer.readerIndex + count.header
                    onText(buffer.readableBytesView[start..<start + count.body])
                }
            }
            buffer.moveReaderIndex(forwardBy: count.header + count.body)
        }
        if buffer.readableBytes > 0 { pending = buffer }
    }

    func channelReadComplete(context: ChannelHandlerContext) { onRead?(self) }

    func channelInactive(context: ChannelHandlerContext) {
        opened.fail(ChannelError.eof)
        context.fireChannelInactive()
    }

    private func upgrade(_ buffer: inout ByteBuffer) -> Bool {
        let end = Array("\r\n\r\n".utf8)
        let view = buffer.readableBytesView
        guard let range = view.firstRange(of: end) else { return false }
        isOpen = true
        if String(decoding: view.prefix(12), as: UTF8.self) == "HTTP/1.1 101" {
            opened.succeed()
        } else {
            opened.fail(BenchmarkError("the server did not upgrade: \(String(buffer: buffer))"))
        }
        buffer.moveReaderIndex(to: range.upperBound)
        return true
    }

    private static func frameLength(_ buffer: ByteBuffer) -> (header: Int, body: Int, isText: Bool)?
    {
        let at = buffer.readerIndex
        guard let first = buffer.getInteger(at: at, as: UInt8.self),
            let second = buffer.getInteger(at: at + 1, as: UInt8.self)
        else { return nil }
        let isText = first & 0x0f == 1
        switch second & 0x7f {
        case 126:
            return buffer.getInteger(at: at + 2, as: UInt16.self).map { (4, Int($0), isText) }
        case 127:
            return buffer.getInteger(at: at + 2, as: UInt64.self).map { (10, Int($0), isText) }
        case let short:
            return (2, Int(short), isText)
        }
    }
}

extension ByteBufferView {
    fileprivate func firstRange(of needle: [UInt8]) -> Range<Int>? {
        guard count >= needle.count else { return nil }
        var index = startIndex
        while index + needle.count <= endIndex {
            if self[index..<index + needle.count].elementsEqual(needle) {
                return index..<index + needle.count
            }
            index += 1
        }
        return nil
    }
}

/// Why a benchmark could not be run.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
