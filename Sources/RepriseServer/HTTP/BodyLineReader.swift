import NIOCore

/// Splits a body into lines (`\n`), buffering at most one.
struct BodyLineReader {
    enum Line: Equatable {
        case text([UInt8])
        /// Longer than the limit; its bytes are dropped as they arrive.
        case tooLong
    }

    private let limit: Int
    private var begun: [UInt8] = []
    private var isTooLong = false

    init(limit: Int) { self.limit = limit }

    /// Takes a piece and passes the lines that end in it to `body`, without blank ones.
    mutating func take(_ piece: ByteBuffer, _ body: (Line) -> Void) {
        var rest = piece.readableBytesView[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            append(rest[..<end])
            finish(body)
            rest = rest[(end + 1)...]
        }
        append(rest)
    }

    /// Passes an unterminated last line to `body`.
    mutating func finish(_ body: (Line) -> Void) {
        defer {
            begun.removeAll(keepingCapacity: true)
            isTooLong = false
        }
        if isTooLong { return body(.tooLong) }
        let isBlank = begun.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }
        if !isBlank { body(.text(begun)) }
    }

    private mutating func append(_ bytes: ByteBufferView) {
        guard !isTooLong else { return }
        guard begun.count + bytes.count <= limit else {
            isTooLong = true
            begun = []
            return
        }
        begun.append(contentsOf: bytes)
    }
}
