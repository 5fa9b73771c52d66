import NIOCore

/// Splits bytes into lines; one that is too long is discarded and becomes nil.
struct LineDecoder: ByteToMessageDecoder {
    typealias InboundOut = PhoneLine

    let limit: Int
    /// The length of the buffer without a line's end, so that a slow line is not searched again and
    /// again.
    private var searched = 0
    private var isTooLong = false

    init(limit: Int) { self.limit = limit }

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer)
        -> DecodingState
    {
        let view = buffer.readableBytesView.dropFirst(searched)
        guard let end = view.firstIndex(of: UInt8(ascii: "\n")) else {
            searched = buffer.readableBytes
            if isTooLong || searched > limit {
                isTooLong = true
                searched = 0
                buffer.clear()
            }
            return .needMoreData
        }
        let length = end - buffer.readerIndex
        let line =
            length <= limit && !isTooLong
            ? buffer.getSlice(at: buffer.readerIndex, length: length) : nil
        (searched, isTooLong) = (0, false)
        buffer.moveReaderIndex(forwardBy: length + 1)
        context.fireChannelRead(wrapInboundOut(PhoneLine(bytes: line)))
        return .continue
    }

    mutating func decodeLast(
        context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
    ) -> DecodingState {
        while decode(context: context, buffer: &buffer) == .continue {}
        buffer.clear()  // A line that was cut short by the end is none.
        return .needMoreData
    }
}

/// One line, without its end; nil: too long. (NIO cannot carry an optional buffer as it is.)
struct PhoneLine: Sendable {
    var bytes: ByteBuffer?
}
