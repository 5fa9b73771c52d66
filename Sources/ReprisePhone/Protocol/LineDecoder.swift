import NIOCore
import RepriseCore

/// Cuts bytes into lines, at most so long.
struct LineDecoder: ByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    let limit: Int
    /// How much of the buffer is known to hold no end of a line, so that a line that trickles in is not read again and again.
    private var searched = 0

    init(limit: Int) { self.limit = limit }

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws
        -> DecodingState
    {
        let view = buffer.readableBytesView.dropFirst(searched)
        guard let end = view.firstIndex(of: UInt8(ascii: "\n")) else {
            searched = buffer.readableBytes
            guard searched <= limit else { throw Self.tooLong(limit) }
            return .needMoreData
        }
        searched = 0
        let length = end - buffer.readerIndex
        guard length <= limit, let line = buffer.readSlice(length: length) else {
            throw Self.tooLong(limit)
        }
        buffer.moveReaderIndex(forwardBy: 1)
        context.fireChannelRead(wrapInboundOut(line))
        return .continue
    }

    mutating func decodeLast(
        context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
    ) throws -> DecodingState {
        while try decode(context: context, buffer: &buffer) == .continue {}
        buffer.clear()  // A line that was cut short by the end is none.
        return .needMoreData
    }

    private static func tooLong(_ limit: Int) -> RepriseError {
        RepriseError(.tooLarge, "A line has more than \(limit) bytes.")
    }
}
