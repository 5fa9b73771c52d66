/// Finds the headers of WebSocket frames in a peer's bytes, however they are split (RFC 6455 §5.2).
///
/// It buffers no bytes. A masking key counts as payload.
package struct FrameHeaderScanner: Sendable {
    /// The next item found.
    package enum Finding: Equatable, Sendable {
        /// Nothing: the rest of the bytes lies within a frame.
        case nothing
        /// A frame begins, with this many bytes of payload.
        case header(length: UInt64, isMinimal: Bool)
        /// A frame ends here.
        case end
    }

    private enum Place: Sendable {
        case opcode
        case length
        /// The length's remaining bytes, of `size`.
        case longLength(left: Int, size: Int, isMasked: Bool)
        case payload(left: UInt64)
    }

    private var place = Place.opcode
    private var length: UInt64 = 0

    package init() {}

    /// Advances to the next finding.
    ///
    /// - Parameters:
    ///   - bytes: the peer's bytes.
    ///   - index: the start; moved behind the finding.
    /// - Returns: the next finding.
    package mutating func next(
        in bytes: UnsafeRawBufferPointer, from index: inout Int
    ) -> Finding {
        while index < bytes.count {
            switch place {
            case .opcode:
                place = .length
                index += 1
            case .length:
                let byte = bytes[index]
                index += 1
                let isMasked = byte & 0x80 != 0
                switch byte & 0x7f {
                case 126: begin(2, isMasked)
                case 127: begin(8, isMasked)
                case let short: return header(UInt64(short), isMasked, isMinimal: true)
                }
            case .longLength(let left, let size, let isMasked):
                length = length << 8 | UInt64(bytes[index])
                index += 1
                guard left == 1 else {
                    place = .longLength(left: left - 1, size: size, isMasked: isMasked)
                    continue
                }
                return header(length, isMasked, isMinimal: length > (size == 2 ? 125 : 0xffff))
            case .payload(let left):
                let here = min(left, UInt64(bytes.count - index))
                index += Int(here)
                guard here == left else {
                    place = .payload(left: left - here)
                    return .nothing
                }
                place = .opcode
                return .end
            }
        }
        return .nothing
    }

    private mutating func begin(_ size: Int, _ isMasked: Bool) {
        length = 0
        place = .longLength(left: size, size: size, isMasked: isMasked)
    }

    private mutating func header(
        _ length: UInt64, _ isMasked: Bool, isMinimal: Bool
    ) -> Finding {
        let (left, isTooMuch) = length.addingReportingOverflow(isMasked ? 4 : 0)
        place = .payload(left: isTooMuch ? .max : left)
        return .header(length: length, isMinimal: isMinimal)
    }
}
