import NIOCore
import NIOWebSocket

/// Assembles whole messages from frames (RFC 6455 §5.4, §5.5), within a bound.
struct MessageAssembler {
    /// The result of a frame.
    enum Step: Equatable {
        /// A whole text message.
        case message([UInt8])
        /// More frames are needed, or nothing is to be done.
        case none
        /// The peer expects this back.
        case ping(ByteBuffer)
        /// The peer closes.
        case close(UInt16?)
        /// The peer violated a rule; close with this code.
        case violation(UInt16, String)
    }

    private let maximumBytes: Int
    private var fragments: ByteBuffer?

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    mutating func frameReceived(_ frame: WebSocketFrame) -> Step {
        guard frame.maskKey == nil else { return .violation(1002, "A server masks no frames.") }
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return .violation(1002, "A reserved bit is set, but no extension was agreed.")
        }
        switch frame.opcode {
        case .text: return started(frame)
        case .continuation: return continued(frame)
        case .binary: return .violation(1003, "A binary frame came; Reprise speaks text.")
        case .ping: return .ping(frame.data)
        case .pong: return .none
        case .connectionClose: return closed(frame.data)
        default: return .violation(1002, "An unknown kind of frame came.")
        }
    }

    private mutating func started(_ frame: WebSocketFrame) -> Step {
        guard fragments == nil else {
            return .violation(1002, "A message began inside another.")
        }
        guard !frame.fin else { return .message(Array(frame.data.readableBytesView)) }
        fragments = frame.data
        return .none
    }

    private mutating func continued(_ frame: WebSocketFrame) -> Step {
        guard var whole = fragments else {
            return .violation(1002, "A continuation came without a beginning.")
        }
        guard whole.readableBytes + frame.data.readableBytes <= maximumBytes else {
            return .violation(1009, "A message has more than \(maximumBytes) bytes.")
        }
        fragments = nil  // so that the append below has the only reference and copies nothing
        whole.writeImmutableBuffer(frame.data)
        guard frame.fin else {
            fragments = whole
            return .none
        }
        return .message(Array(whole.readableBytesView))
    }

    /// RFC 6455 §7.4 lists the codes that a close frame may carry, §5.5.1 requires its reason to be
    /// UTF-8.
    private func closed(_ data: ByteBuffer) -> Step {
        var data = data
        guard data.readableBytes > 0 else { return .close(nil) }
        guard let code = data.readInteger(as: UInt16.self) else {
            return .violation(1002, "A close frame has a code of two bytes or none.")
        }
        switch code {
        case 1_000...1_003, 1_007...1_014, 3_000...4_999: break
        default: return .violation(1002, "The close code must not be sent.")
        }
        guard String(validating: data.readableBytesView, as: UTF8.self) != nil else {
            return .violation(1007, "The reason is not UTF-8.")
        }
        return .close(code)
    }
}
