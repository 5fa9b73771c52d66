package import NIOCore
import RepriseWire

/// Refuses a frame by its header, before NIO's frame decoder buffers it.
///
/// The decoder has one limit per connection and accepts a length in any form. Here the limit is the
/// connection's current one, and a length must use the shortest form (RFC 6455 §5.2). After a
/// violation nothing is passed on.
package final class FrameHeaderGuard: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    /// A violation of the framing.
    package enum Violation: Error, Equatable {
        case tooLong(limit: Int)
        case lengthNotMinimal
    }

    private let limit: () -> Int
    private var scanner = FrameHeaderScanner()
    private var isBroken = false

    /// - Parameter limit: the most bytes of the next frame, at least
    ///   ``RepriseWire/WireLimits/bytesBeforeWelcome``; called after all frames before it are
    ///   passed on.
    package init(limit: @escaping () -> Int) { self.limit = limit }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        let buffer = unwrapInboundIn(data)
        var passedOn = 0
        var index = 0
        while true {
            let begin = index
            let finding = buffer.withUnsafeReadableBytes { scanner.next(in: $0, from: &index) }
            switch finding {
            case .nothing:
                return passOn(passedOn..<buffer.readableBytes, of: buffer, context)
            case .header(let length, let isMinimal):
                guard violation(length, isMinimal) != nil else { continue }
                // Earlier frames take effect first, and may raise the limit: `welcome` does.
                passOn(passedOn..<begin, of: buffer, context)
                passedOn = begin
                guard let violation = violation(length, isMinimal) else { continue }
                isBroken = true
                context.fireErrorCaught(violation)
                return
            case .end: continue
            }
        }
    }

    private func violation(_ length: UInt64, _ isMinimal: Bool) -> Violation? {
        guard isMinimal else { return .lengthNotMinimal }
        guard length > UInt64(WireLimits.bytesBeforeWelcome) else { return nil }
        let limit = limit()
        return length > UInt64(limit) ? .tooLong(limit: limit) : nil
    }

    private func passOn(
        _ range: Range<Int>, of buffer: ByteBuffer, _ context: ChannelHandlerContext
    ) {
        guard !range.isEmpty,
            let slice = buffer.getSlice(
                at: buffer.readerIndex + range.lowerBound, length: range.count)
        else { return }
        context.fireChannelRead(wrapInboundOut(slice))
    }
}
