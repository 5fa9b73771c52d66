package import NIOCore

/// Finds where the head of a request ends, so that the parser is given one request at a time.
package struct RequestHeadScanner: Sendable {
    private var isLineEmpty = true

    package init() {}

    /// How many of `bytes` belong to the head: through its empty line, or all if that has not come.
    ///
    /// Each byte is looked at once: the next call begins where the last one ended.
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
