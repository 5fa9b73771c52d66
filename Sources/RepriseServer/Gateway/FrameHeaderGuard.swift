package import NIOCore
import RepriseWire

/// Stands before NIO's frame decoder and refuses a frame by its header, before the decoder buffers
/// it.
///
/// The decoder has one bound for the life of a connection and takes a length in any form. Here the
/// bound is the connection's of the moment, and a length must be written as shortly as it can be
/// (RFC 6455 §5.2). After a violation nothing is passed on.
package final class FrameHeaderGuard: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    /// What breaks the rules.
    package enum Violation: Error, Equatable {
        case tooLong(limit: Int)
        case lengthNotMinimal
    }

    private let limit: () -> Int
    private var scanner = FrameHeaderScanner()
    private var isBroken = false

    /// - Parameter limit: the most bytes of the next frame, at least
    ///   ``RepriseWire/WireLimits/bytesBeforeWelcome``; the last answer is asked for when all
    ///   frames before it are handed on.
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
                // What comes before it counts, and may raise the bound: `welcome` does.
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
