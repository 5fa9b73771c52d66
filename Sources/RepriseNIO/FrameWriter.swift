import NIOCore
import NIOWebSocket

/// Writes the frames of a client (RFC 6455 §5.2), each masked with a fresh random key.
///
/// NIO's own encoder writes header and payload as two buffers and masks on the event loop. A batch
/// written here is one buffer, made on the sender's thread.
enum FrameWriter {
    /// Whole text frames, one after the other.
    static func text(_ frames: [[UInt8]], allocator: ByteBufferAllocator) -> ByteBuffer {
        let bytes = frames.reduce(0) { $0 + $1.count + 14 }
        var buffer = allocator.buffer(capacity: bytes)
        var randomness = SystemRandomNumberGenerator()
        for frame in frames {
            write(.text, frame, key: randomness.next(), to: &buffer)
        }
        return buffer
    }

    /// A pong, or a close.
    static func control(
        _ opcode: WebSocketOpcode, _ payload: ByteBuffer, allocator: ByteBufferAllocator
    ) -> ByteBuffer {
        var buffer = allocator.buffer(capacity: payload.readableBytes + 6)
        var randomness = SystemRandomNumberGenerator()
        write(opcode, Array(payload.readableBytesView), key: randomness.next(), to: &buffer)
        return buffer
    }

    static func write(
        _ opcode: WebSocketOpcode, _ payload: [UInt8], key: UInt32, to buffer: inout ByteBuffer
    ) {
        buffer.writeInteger(0x80 | UInt8(webSocketOpcode: opcode))
        switch payload.count {
        case ...125: buffer.writeInteger(0x80 | UInt8(payload.count))
        case ...0xffff: buffer.writeMultipleIntegers(UInt8(0x80 | 126), UInt16(payload.count))
        default: buffer.writeMultipleIntegers(UInt8(0x80 | 127), UInt64(payload.count))
        }
        buffer.writeInteger(key)
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: payload.count) { target in
            payload.withUnsafeBytes { mask($0, key.bigEndian, into: target) }
            return payload.count
        }
    }

    /// Four bytes at a time: `key` is in memory in wire order.
    private static func mask(
        _ payload: UnsafeRawBufferPointer, _ key: UInt32, into target: UnsafeMutableRawBufferPointer
    ) {
        let words = payload.count / 4
        for word in 0..<words {
            let plain = payload.loadUnaligned(fromByteOffset: word * 4, as: UInt32.self)
            target.storeBytes(of: plain ^ key, toByteOffset: word * 4, as: UInt32.self)
        }
        withUnsafeBytes(of: key) { key in
            for index in (words * 4)..<payload.count {
                target[index] = payload[index] ^ key[index % 4]
            }
        }
    }
}
