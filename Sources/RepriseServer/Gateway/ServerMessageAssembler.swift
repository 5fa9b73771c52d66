package import NIOCore
package import NIOWebSocket
package import RepriseWire

/// Assembles messages from WebSocket frames, and detects violations of RFC 6455.
///
/// It buffers bytes only between the fragments of a message. Earlier handlers have refused frames
/// that are too long or invalid by their header, and long or fragmented control frames.
package struct ServerMessageAssembler: Sendable {
    package enum Outcome: Equatable, Sendable {
        /// A whole text message is in the caller's buffer.
        case message
        /// More fragments follow.
        case incomplete
        case ping(ByteBuffer)
        case pong
        case close(CloseCode?)
        case violation(CloseCode, String)
    }

    private var fragments: [UInt8]?
    /// The UTF-8 state over fragments: a message is refused at the first invalid one.
    private var encoding = UTF8Check()

    package init() {}

    /// Takes the next frame.
    ///
    /// - Parameters:
    ///   - frame: from the decoder.
    ///   - limit: the most bytes of a fragmented message.
    ///   - text: for ``RepriseCore/Outcome/message`` it is overwritten with the message.
    /// - Returns: the outcome.
    package mutating func add(
        _ frame: WebSocketFrame, limit: Int = WireLimits.frameBytes, text: inout [UInt8]
    ) -> Outcome {
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return .violation(.protocolError, "No extension was agreed on.")
        }
        guard let key = frame.maskKey else {
            return .violation(.protocolError, "Frames from a client are masked.")
        }
        switch frame.opcode {
        case .text: return begin(frame, key, &text)
        case .continuation: return go(on: frame, key, limit, &text)
        case .binary: return .violation(.notText, "Frames are text.")
        case .ping: return .ping(frame.unmaskedData)
        case .pong: return .pong
        case .connectionClose: return Self.close(frame.unmaskedData)
        default: return .violation(.protocolError, "The opcode is reserved.")
        }
    }

    private mutating func begin(
        _ frame: WebSocketFrame, _ key: WebSocketMaskingKey, _ text: inout [UInt8]
    ) -> Outcome {
        guard fragments == nil else {
            return .violation(.protocolError, "The message before has not ended.")
        }
        guard frame.fin else {
            var bytes: [UInt8] = []
            Self.append(frame.data, unmaskedWith: key, to: &bytes)
            encoding = UTF8Check()
            guard encoding.take(bytes[...]) else { return Self.notText }
            fragments = bytes
            return .incomplete
        }
        text.removeAll(keepingCapacity: true)
        Self.append(frame.data, unmaskedWith: key, to: &text)
        return .message
    }

    private mutating func go(
        on frame: WebSocketFrame, _ key: WebSocketMaskingKey, _ limit: Int,
        _ text: inout [UInt8]
    ) -> Outcome {
        guard var bytes = fragments else {
            return .violation(.protocolError, "There is no message to go on with.")
        }
        fragments = nil
        guard bytes.count + frame.data.readableBytes <= limit else {
            return .violation(.frameTooLarge, "A message has at most \(limit) bytes here.")
        }
        let known = bytes.count
        Self.append(frame.data, unmaskedWith: key, to: &bytes)
        guard encoding.take(bytes[known...]) else { return Self.notText }
        if frame.fin {
            guard encoding.isWhole else { return Self.notText }
            text = bytes
            return .message
        }
        fragments = bytes
        return .incomplete
    }

    private static var notText: Outcome { .violation(.invalidText, "The text is not UTF-8.") }

    /// RFC 6455 §7.4 lists the codes of a close frame, §5.5.1 requires UTF-8 of its reason.
    private static func close(_ payload: ByteBuffer) -> Outcome {
        var payload = payload
        guard payload.readableBytes > 0 else { return .close(nil) }
        guard let number = payload.readInteger(as: UInt16.self) else {
            return .violation(.protocolError, "A close frame has no code, or a whole one.")
        }
        switch number {
        case 1_000...1_003, 1_007...1_014, 3_000...4_999: break
        default: return .violation(.protocolError, "The close code must not be sent.")
        }
        guard String(validating: payload.readableBytesView, as: UTF8.self) != nil else {
            return .violation(.invalidText, "The reason is not UTF-8.")
        }
        return .close(CloseCode(number))
    }

    /// Eight bytes at a time: this runs over every byte that clients send.
    private static func append(
        _ data: ByteBuffer, unmaskedWith key: WebSocketMaskingKey, to bytes: inout [UInt8]
    ) {
        let start = bytes.count
        data.withUnsafeReadableBytes { bytes.append(contentsOf: $0) }
        var word: UInt64 = 0
        for index in (0..<8).reversed() { word = word << 8 | UInt64(key[index % 4]) }
        bytes.withUnsafeMutableBytes { all in
            let region = UnsafeMutableRawBufferPointer(rebasing: all[start...])
            var index = 0
            while index + 8 <= region.count {
                let value = UInt64(
                    littleEndian: region.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                region.storeBytes(
                    of: (value ^ word).littleEndian, toByteOffset: index, as: UInt64.self)
                index += 8
            }
            while index < region.count {
                region[index] ^= key[index % 4]
                index += 1
            }
        }
    }
}
