import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// The best a bare pipeline of handlers does.
///
/// It answers the upgrade with constant bytes, and sends each text frame it gets to all the other
/// connections, one buffer for all, one flush for each read. No protocol, no journal, no limits.
///
/// With storage it has rooms, and commits what came in one read before anybody gets it.
enum BareServer {
    static func run(storage: BareStorage? = nil) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let room = Room(storage: storage)
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1_024)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(BareHandler(room: room))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        // Not print: its buffer would keep the line until the process ends.
        FileHandle.standardOutput.write(Data("ready \(channel.localAddress?.port ?? 0)\n".utf8))
        try await channel.closeFuture.get()
    }

    /// Shards by event loop.
    final class Room: Sendable {
        private let shards = Mutex<[ObjectIdentifier: Shard]>([:])
        private let storage: BareStorage?

        init(storage: BareStorage?) { self.storage = storage }

        func shard(of loop: any EventLoop) -> Shard {
            shards.withLock { shards in
                let key = ObjectIdentifier(loop)
                if let shard = shards[key] { return shard }
                let shard = Shard(loop: loop)
                shards[key] = shard
                return shard
            }
        }

        func send(_ frames: [ByteBuffer], from sender: ObjectIdentifier) {
            guard let storage else { return fanOut { $0.write(frames, except: sender) } }
            storage.store(frames) { [self] frames in
                fanOut { $0.write(frames, except: sender) }
            }
        }

        private func fanOut(_ body: @escaping @Sendable (Shard) -> Void) {
            for shard in shards.withLock({ Array($0.values) }) {
                shard.loop.execute { body(shard) }
            }
        }
    }

    // Unchecked: touched on its own loop only.
    final class Shard: @unchecked Sendable {
        let loop: any EventLoop
        var contexts: [ObjectIdentifier: ChannelHandlerContext] = [:]
        /// Those who have asked for a room, by its number.
        var rooms: [Int: [ChannelHandlerContext]] = [:]

        init(loop: any EventLoop) { self.loop = loop }

        func write(_ frames: [ByteBuffer], except sender: ObjectIdentifier) {
            guard rooms.isEmpty else { return writeToRooms(frames) }
            for (key, context) in contexts where key != sender {
                for frame in frames { context.write(NIOAny(frame), promise: nil) }
                context.flush()
            }
        }

        private func writeToRooms(_ frames: [ByteBuffer]) {
            var touched: [ChannelHandlerContext] = []
            for frame in frames {
                guard let room = BareServer.room(of: frame.readableBytesView) else { continue }
                for context in rooms[room] ?? [] {
                    context.write(NIOAny(frame), promise: nil)
                    touched.append(context)
                }
            }
            // Flushing one that has nothing to flush costs next to nothing.
            for context in touched { context.flush() }
        }
    }

    /// The digits behind `"channelId":"steady` of an event or a subscription.
    static func room(of text: ByteBufferView) -> Int? {
        let key = Array(#""channelId":"steady"#.utf8)
        var index = text.startIndex
        while index + key.count < text.endIndex, index < text.startIndex + 64 {
            if text[index] == key[0], text[index..<index + key.count].elementsEqual(key) {
                let digits = text[(index + key.count)...].prefix { (0x30...0x39).contains($0) }
                return Int(String(decoding: digits, as: UTF8.self))
            }
            index += 1
        }
        return nil
    }
}

private final class BareHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let room: BareServer.Room
    private var isOpen = false
    private var rest = ByteBuffer()

    init(room: BareServer.Room) { self.room = room }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        guard isOpen else {
            isOpen = true
            let answer = """
                HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n
                """
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            room.shard(of: context.eventLoop).contexts[ObjectIdentifier(self)] = context
            return
        }
        rest.writeBuffer(&buffer)
        var frames: [ByteBuffer] = []
        while let frame = nextFrame() {
            if let room = Self.subscribed(frame) {
                for room in room {
                    self.room.shard(of: context.eventLoop).rooms[room, default: []].append(context)
                }
            } else if frame.readableBytes > 0 {
                frames.append(frame)
            }
        }
        if rest.readableBytes == 0 { rest.clear() }
        if !frames.isEmpty { room.send(frames, from: ObjectIdentifier(self)) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        room.shard(of: context.eventLoop).contexts[ObjectIdentifier(self)] = nil
    }

    /// The rooms of a subscription; nil for other frames.
    private static func subscribed(_ frame: ByteBuffer) -> [Int]? {
        let text = frame.readableBytesView
        guard
            text.dropFirst(4).starts(with: Array(#"{"type":"subscribe""#.utf8))
                || text.dropFirst(2).starts(with: Array(#"{"type":"subscribe""#.utf8))
        else { return nil }
        return String(buffer: frame).split(separator: #""steady"#).dropFirst()
            .compactMap { Int($0.prefix { $0.isNumber }) }
    }

    /// The next text frame, as a server's frame; a hello is swallowed.
    private func nextFrame() -> ByteBuffer? {
        let at = rest.readerIndex
        guard let second = rest.getInteger(at: at + 1, as: UInt8.self) else { return nil }
        let isLong = second & 0x7f == 126
        let header = isLong ? 8 : 6
        guard
            let count = isLong
                ? rest.getInteger(at: at + 2, as: UInt16.self).map(Int.init) : Int(second & 0x7f),
            rest.readableBytes >= header + count
        else { return nil }
        rest.moveReaderIndex(forwardBy: header)
        guard var payload = rest.readSlice(length: count) else { return nil }
        if payload.readableBytesView.starts(with: Array(#"{"type":"hello""#.utf8)) {
            return ByteBuffer()
        }
        var frame = ByteBuffer()
        frame.reserveCapacity(count + 4)
        frame.writeInteger(UInt8(0x81))
        if count < 126 {
            frame.writeInteger(UInt8(count))
        } else {
            frame.writeInteger(UInt8(126))
            frame.writeInteger(UInt16(count))
        }
        frame.writeBuffer(&payload)
        return frame
    }
}
