package import NIOCore

/// Finds the end of a request's head, so that the parser gets one request at a time.
package struct RequestHeadScanner: Sendable {
    private var isLineEmpty = true

    package init() {}

    /// The number of `bytes` in the head: through its empty line, or all if that has not arrived.
    ///
    /// Each byte is scanned once: the next call continues where the last one ended.
    package mutating func length(in bytes: ByteBufferView) -> Int {
        var count = 0
        for byte in bytes {
            count += 1
            switch byte {
            case UInt8(ascii: "\n"):
                if isLineEmpty { return count }
                isLineEmpty = true
            case UInt8(ascii: "\r"): break
            default: isLineEmpty = false
            }
        }
        return count
    }
}
