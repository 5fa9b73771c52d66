extension JSONScanner {
    /// Skips a string that begins at `index` and checks it: escapes, control characters, UTF-8.
    ///
    /// - Returns: whether it holds escapes.
    mutating func string() throws -> Bool {
        index += 1  // the caller has seen the quote
        var hasEscapes = false
        skipPlain()
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") {
                index += 1
                return hasEscapes
            }
            if byte == UInt8(ascii: "\\") {
                hasEscapes = true
                try escape()
            } else if byte >= 0x80 {
                try multibyte(byte)
            } else if byte >= 0x20 {
                index += 1
            } else {
                throw malformed("a control character must be escaped")
            }
        }
        throw malformed("a string is not closed")
    }

    /// Skips eight bytes at a time while all of them are plain: printable ASCII without quote and
    /// backslash.
    @inline(__always) private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while bytes.count - index >= 8, let base = bytes.baseAddress {
            let word = UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self)
            // A byte of `x − ones` that borrowed has its high bit set, where x had none: x's byte
            // was 0.
            let quotes = word ^ ones &* 0x22
            let backslashes = word ^ ones &* 0x5c
            let controls = (word &- ones &* 0x20) & ~word
            let zeros = (quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes
            guard (controls | zeros | word) & highs == 0 else { return }
            index += 8
        }
    }

    private mutating func escape() throws {
        guard bytes.count - index >= 2 else { throw malformed("the text ends too early") }
        switch bytes[index + 1] {
        case UInt8(ascii: "u"):
            let unit = try codeUnit(at: index)
            index += 6
            guard unit & 0xf800 == 0xd800 else { return }
            guard unit < 0xdc00, try codeUnit(at: index) & 0xfc00 == 0xdc00 else {
                throw malformed("a surrogate has no partner")
            }
            index += 6
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 2
        default:
            throw malformed("an unknown escape")
        }
    }

    /// The value of `\uXXXX` at `start`.
    private func codeUnit(at start: Int) throws -> UInt16 {
        guard bytes.count - start >= 6, bytes[start] == UInt8(ascii: "\\"),
            bytes[start + 1] == UInt8(ascii: "u")
        else { throw malformed("a surrogate has no partner, or an escape is cut") }
        var unit: UInt16 = 0
        for offset in 2..<6 {
            guard let digit = Self.hexDigit(bytes[start + offset]) else {
                throw malformed("a hexadecimal digit is expected")
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    /// One character of two to four bytes, by the table of well-formed sequences (Unicode 15, table
    /// 3-7).
    private mutating func multibyte(_ lead: UInt8) throws {
        let count: Int
        var second: ClosedRange<UInt8> = 0x80...0xbf
        switch lead {
        case 0xc2...0xdf: count = 2
        case 0xe0: (count, second) = (3, 0xa0...0xbf)
        case 0xe1...0xec, 0xee...0xef: count = 3
        case 0xed: (count, second) = (3, 0x80...0x9f)
        case 0xf0: (count, second) = (4, 0x90...0xbf)
        case 0xf1...0xf3: count = 4
        case 0xf4: (count, second) = (4, 0x80...0x8f)
        default: throw malformed("the text is not UTF-8")
        }
        guard bytes.count - index >= count, second.contains(bytes[index + 1]),
            bytes[index + 2..<index + count].allSatisfy({ $0 & 0xc0 == 0x80 })
        else { throw malformed("the text is not UTF-8") }
        index += count
    }

    /// The unescaped UTF-8 of a checked string.
    func unescaped(_ value: Value) -> [UInt8] {
        let text = inside(value)
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var at = 0
        while at < text.count {
            guard text[at] == UInt8(ascii: "\\"), at + 1 < text.count else {
                result.append(text[at])
                at += 1
                continue
            }
            at += Self.appendUnescaped(text, at: at, to: &result)
        }
        return result
    }

    /// - Returns: how many bytes the escape at `at` takes.
    private static func appendUnescaped(
        _ text: UnsafeBufferPointer<UInt8>, at: Int, to result: inout [UInt8]
    ) -> Int {
        switch text[at + 1] {
        case UInt8(ascii: "b"): result.append(0x08)
        case UInt8(ascii: "f"): result.append(0x0c)
        case UInt8(ascii: "n"): result.append(0x0a)
        case UInt8(ascii: "r"): result.append(0x0d)
        case UInt8(ascii: "t"): result.append(0x09)
        case UInt8(ascii: "u"):
            let high = unit(text, at: at)
            guard high & 0xfc00 == 0xd800 else {
                append(UInt32(high), to: &result)
                return 6
            }
            let low = unit(text, at: at + 6)
            append(0x10000 + (UInt32(high & 0x3ff) << 10 | UInt32(low & 0x3ff)), to: &result)
            return 12
        default: result.append(text[at + 1])
        }
        return 2
    }

    private static func unit(_ text: UnsafeBufferPointer<UInt8>, at start: Int) -> UInt16 {
        guard start >= 0, start + 6 <= text.count else { return 0xfffd }
        return text[start + 2..<start + 6].reduce(0) { $0 << 4 | UInt16(hexDigit($1) ?? 0) }
    }

    private static func append(_ scalar: UInt32, to result: inout [UInt8]) {
        let character = Unicode.Scalar(scalar) ?? "\u{fffd}"
        result.append(contentsOf: Array(String(character).utf8))
    }
}
