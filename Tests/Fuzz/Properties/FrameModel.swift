/// RFC 6455 §5, as plainly as it can be written.
struct FrameModel {
    enum Outcome: Equatable {
        case message([UInt8])
        case ping([UInt8])
        case close(UInt16?)
        case violation(UInt16)
    }

    private struct Header {
        var isFinal: Bool
        var reserved: UInt8
        var opcode: UInt8
        var isMasked: Bool
        var length: UInt64
        var bytes: Int
        /// Whether the length is written as shortly as it can be (§5.2).
        var isMinimal: Bool { bytes == 2 || length > (bytes == 4 ? 125 : 0xffff) }
    }

    let frameLimit: Int
    let messageLimit: Int
    let areMasked: Bool
    private var isServer: Bool { areMasked }
    private var fragments: [UInt8]?

    init(frameLimit: Int, messageLimit: Int, areMasked: Bool) {
        self.frameLimit = frameLimit
        self.messageLimit = messageLimit
        self.areMasked = areMasked
    }

    /// Everything that the bytes mean, up to the first close or violation.
    mutating func read(_ bytes: ArraySlice<UInt8>) -> [Outcome] {
        var outcomes: [Outcome] = []
        var rest = bytes
        while let header = header(of: rest) {
            // What the header alone says is known before the payload has come.
            if isServer, !header.isMinimal { return outcomes + [.violation(1002)] }
            if header.length > UInt64(frameLimit) { return outcomes + [.violation(1009)] }
            if header.opcode >= 8, header.length > 125 || !header.isFinal {
                return outcomes + [.violation(1002)]
            }
            let keyBytes = header.isMasked ? 4 : 0
            let count = header.bytes + keyBytes + Int(header.length)
            guard rest.count >= count else { break }
            let key = Array(rest.dropFirst(header.bytes).prefix(keyBytes))
            let masked = rest.dropFirst(header.bytes + keyBytes).prefix(Int(header.length))
            let payload = masked.enumerated().map { $1 ^ (key.isEmpty ? 0 : key[$0 % 4]) }
            rest = rest.dropFirst(count)
            guard let outcome = frame(header, payload) else { continue }
            outcomes.append(outcome)
            switch outcome {
            case .close, .violation: return outcomes
            case .message, .ping: break
            }
        }
        return outcomes
    }

    private func header(of bytes: ArraySlice<UInt8>) -> Header? {
        guard bytes.count >= 2 else { return nil }
        let first = bytes[bytes.startIndex]
        let second = bytes[bytes.startIndex + 1]
        var header = Header(
            isFinal: first & 0x80 != 0, reserved: first & 0x70, opcode: first & 0x0f,
            isMasked: second & 0x80 != 0, length: UInt64(second & 0x7f), bytes: 2)
        guard header.length >= 126 else { return header }
        let more = header.length == 126 ? 2 : 8
        guard bytes.count >= 2 + more else { return nil }
        header.length = bytes.dropFirst(2).prefix(more).reduce(0) { $0 << 8 | UInt64($1) }
        header.bytes = 2 + more
        return header
    }

    private mutating func frame(_ header: Header, _ payload: [UInt8]) -> Outcome? {
        guard header.isMasked == areMasked, header.reserved == 0 else { return .violation(1002) }
        switch header.opcode {
        case 0:
            guard let begun = fragments else { return .violation(1002) }
            guard begun.count + payload.count <= messageLimit else { return .violation(1009) }
            return message(begun + payload, isWhole: header.isFinal)
        case 1:
            guard fragments == nil else { return .violation(1002) }
            return message(payload, isWhole: header.isFinal)
        case 2: return .violation(1003)
        case 8: return close(payload)
        case 9: return .ping(payload)
        case 10: return nil
        default: return .violation(1002)
        }
    }

    /// A server refuses what cannot become text with the fragment that shows it; a client looks at
    /// whole messages.
    private mutating func message(_ bytes: [UInt8], isWhole: Bool) -> Outcome? {
        if isServer, fragments != nil || !isWhole, !isText(bytes, isWhole: isWhole) {
            return .violation(1007)
        }
        fragments = isWhole ? nil : bytes
        return isWhole ? .message(bytes) : nil
    }

    /// Whether the bytes are UTF-8, or its beginning: then they are once some bytes are added.
    private func isText(_ bytes: [UInt8], isWhole: Bool) -> Bool {
        func isValid(_ bytes: [UInt8]) -> Bool {
            String(validating: bytes, as: UTF8.self) != nil
        }
        if isValid(bytes) || isWhole { return isValid(bytes) }
        let ends: [[UInt8]] = [0x80, 0x90, 0xa0].map { [$0] }
        return ends.contains { end in
            (0...2).contains { isValid(bytes + end + [UInt8](repeating: 0x80, count: $0)) }
        }
    }

    /// §5.5.1, §7.4.
    private func close(_ payload: [UInt8]) -> Outcome {
        guard !payload.isEmpty else { return .close(nil) }
        guard payload.count >= 2 else { return .violation(1002) }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        let isAllowed =
            (1_000...1_003).contains(code) || (1_007...1_014).contains(code)
            || (3_000...4_999).contains(code)
        guard isAllowed else { return .violation(1002) }
        guard String(validating: payload[2...], as: UTF8.self) != nil else {
            return .violation(1007)
        }
        return .close(code)
    }
}
