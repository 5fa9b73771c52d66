package import NIOCore
package import NIOWebSocket
package import RepriseWire

/// The server's side of RFC 6455 framing: final, unmasked frames.
///
/// Replaces NIO's encoder, so that one buffer serves every subscriber and a page of a catch-up is
/// one write.
package enum WebSocketFraming {
    /// Appends the header of a frame (RFC 6455 §5.2).
    package static func writeHeader(
        _ opcode: WebSocketOpcode, length: Int, to buffer: inout ByteBuffer
    ) {
        buffer.writeInteger(0x80 | UInt8(webSocketOpcode: opcode))
        switch length {
        case ...125: buffer.writeInteger(UInt8(length))
        case ...65_535:
            buffer.writeInteger(UInt8(126))
            buffer.writeInteger(UInt16(length))
        default:
            buffer.writeInteger(UInt8(127))
            buffer.writeInteger(UInt64(length))
        }
    }

    /// Appends a whole text frame.
    package static func write(_ frame: ServerFrame, to buffer: inout ByteBuffer) {
        let text = frame.encoded()
        writeHeader(.text, length: text.count, to: &buffer)
        buffer.writeBytes(text)
    }

    /// A whole text frame.
    package static func frame(_ frame: ServerFrame) -> ByteBuffer {
        var buffer = ByteBuffer()
        write(frame, to: &buffer)
        return buffer
    }

    /// A whole control frame; a payload beyond 125 bytes is cut.
    package static func control(
        _ opcode: WebSocketOpcode, _ payload: ByteBuffer = ByteBuffer()
    ) -> ByteBuffer {
        var payload = payload
        payload.moveWriterIndex(
            to: min(payload.writerIndex, payload.readerIndex + 125))
        var buffer = ByteBuffer()
        writeHeader(opcode, length: payload.readableBytes, to: &buffer)
        buffer.writeBuffer(&payload)
        return buffer
    }

    /// A whole close frame (RFC 6455 §5.5.1).
    package static func close(_ code: CloseCode) -> ByteBuffer {
        control(.connectionClose, ByteBuffer(integer: code.number))
    }
}
