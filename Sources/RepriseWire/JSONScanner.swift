import Foundation
package import RepriseCore

/// Scans JSON text (RFC 8259) without building values, and returns the place of each value.
///
/// So a message body keeps its original bytes: the envelope around it is read here, the body is
/// checked once and copied unchanged. Foundation's decoder costs about nine times as much for the
/// hot envelope and would lose the bytes.
///
/// No input traps: every byte is read behind a check of the index, nesting is counted in a loop and
/// bounded, numbers are converted with overflow checks. Beyond the RFC it rejects text that would
/// break the next reader: invalid UTF-8, unpaired surrogates in escapes (RFC 7493 §2.1), nesting
/// beyond ``WireLimits/nestingDepth``.
package struct JSONScanner {
    /// A value's place in the text.
    package struct Value: Hashable {
        package enum Kind: Hashable { case object, array, string, number, literal }
        package var kind: Kind
        /// With the quotes, for a string.
        package var range: Range<Int>
        /// Whether a string contains escapes and therefore differs from its bytes.
        package var hasEscapes = false
    }

    let bytes: UnsafeBufferPointer<UInt8>
    private(set) var index: Int

    package init(_ bytes: UnsafeBufferPointer<UInt8>, from index: Int = 0) {
        self.bytes = bytes
        self.index = index
    }

    /// Checks that `text` is one JSON value and nothing else.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`.
    package static func validate(_ text: [UInt8]) throws {
        try text.withUnsafeBufferPointer { bytes in
            var scanner = JSONScanner(bytes)
            _ = try scanner.value()
            try scanner.end()
        }
    }

    /// The next value, whole.
    package mutating func value() throws -> Value {
        skipSpace()
        let start = index
        guard let byte = peek() else { throw malformed("a value is missing") }
        switch byte {
        case UInt8(ascii: "\""):
            let hasEscapes = try string()
            return Value(kind: .string, range: start..<index, hasEscapes: hasEscapes)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            try container()
            return Value(
                kind: byte == UInt8(ascii: "{") ? .object : .array, range: start..<index)
        default:
            return Value(kind: try scalar(byte), range: start..<index)
        }
    }

    /// Calls `body` with each member of the next object.
    ///
    /// - Parameter body: gets the key (a string value) and the member's value; afterwards the
    ///   scanner is behind the value.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, and the errors of `body`.
    package mutating func object(_ body: (_ key: Value, _ value: Value) throws -> Void) throws {
        skipSpace()
        guard take(UInt8(ascii: "{")) else { throw malformed("an object is expected") }
        skipSpace()
        if take(UInt8(ascii: "}")) { return }
        while true {
            skipSpace()
            let start = index
            guard peek() == UInt8(ascii: "\"") else { throw malformed("a key is expected") }
            let escaped = try string()
            let key = Value(kind: .string, range: start..<index, hasEscapes: escaped)
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw malformed("a colon is expected") }
            try body(key, try value())
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "}")) else { throw malformed("a comma or } is expected") }
            return
        }
    }

    /// Calls `body` with each element of the next array.
    package mutating func array(_ body: (Value) throws -> Void) throws {
        skipSpace()
        guard take(UInt8(ascii: "[")) else { throw malformed("an array is expected") }
        skipSpace()
        if take(UInt8(ascii: "]")) { return }
        while true {
            try body(try value())
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "]")) else { throw malformed("a comma or ] is expected") }
            return
        }
    }

    /// Only white space may follow.
    package mutating func end() throws {
        skipSpace()
        guard index == bytes.count else { throw malformed("something follows the value") }
    }

    /// A scanner that begins at an earlier value.
    package func at(_ value: Value) -> JSONScanner {
        JSONScanner(bytes, from: value.range.lowerBound)
    }

    // MARK: Reading values

    /// The bytes of a value, unchanged.
    package func raw(_ value: Value) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[value.range])
    }

    /// The text between a string's quotes, unchanged.
    func inside(_ value: Value) -> UnsafeBufferPointer<UInt8> {
        let inner = (value.range.lowerBound + 1)..<(value.range.upperBound - 1)
        return UnsafeBufferPointer(rebasing: bytes[inner])
    }

    /// Whether a string value equals `text` (ASCII).
    package func says(_ value: Value, _ text: StaticString) -> Bool {
        if value.hasEscapes {
            return unescaped(value) == text.withUTF8Buffer { Array($0) }
        }
        return text.withUTF8Buffer { expected in
            Self.areEqual(inside(value), expected)
        }
    }

    static func areEqual(
        _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard left.count == right.count else { return false }
        guard let leftStart = left.baseAddress, let rightStart = right.baseAddress else {
            return true
        }
        return memcmp(leftStart, rightStart, left.count) == 0
    }

    /// A string value's text.
    package func string(_ value: Value) throws -> String {
        guard value.kind == .string else { throw unexpected(value, "a string") }
        guard value.hasEscapes else { return String(decoding: inside(value), as: UTF8.self) }
        return String(decoding: unescaped(value), as: UTF8.self)
    }

    /// A number value that is a whole number within Int64, without fraction and exponent.
    package func integer(_ value: Value) throws -> Int64 {
        guard value.kind == .number else { throw unexpected(value, "a whole number") }
        var result: Int64 = 0
        var digits = raw(value)[...]
        let negative = digits.first == UInt8(ascii: "-")
        if negative { digits = digits.dropFirst() }
        for byte in digits {
            guard byte >= 0x30, byte <= 0x39 else { throw unexpected(value, "a whole number") }
            let (scaled, over) = result.multipliedReportingOverflow(by: 10)
            let (sum, beyond) = scaled.subtractingReportingOverflow(Int64(byte - 0x30))
            guard !over, !beyond else { throw unexpected(value, "a number of 64 bits") }
            result = sum
        }
        if negative { return result }
        guard result != .min else { throw unexpected(value, "a number of 64 bits") }
        return -result
    }

    /// A sequence, a time or a length of time: 0 or more, and exact in every JSON reader.
    func sequence(_ value: Value) throws -> Int64 {
        let number = try integer(value)
        guard number >= 0, number <= WireLimits.greatestSequence else {
            throw unexpected(value, "a whole number from 0 to \(WireLimits.greatestSequence)")
        }
        return number
    }

    /// The error of a value in another form; it shows no string, which may be a secret.
    package func unexpected(_ value: Value, _ expected: String) -> RepriseError {
        let found =
            switch value.kind {
            case .string: "a string"
            case .object: "an object"
            case .array: "an array"
            case .number, .literal: String(decoding: raw(value).prefix(32), as: UTF8.self)
            }
        return RepriseError(.malformed, "\(expected) is expected, not \(found).")
    }

    package func malformed(_ what: String) -> RepriseError {
        RepriseError(.malformed, "Not valid: \(what), at byte \(index).")
    }

    // MARK: Grammar

    @inline(__always) private func peek() -> UInt8? {
        index < bytes.count ? bytes[index] : nil
    }

    @inline(__always) private mutating func take(_ byte: UInt8) -> Bool {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
        return true
    }

    @inline(__always) private mutating func skipSpace() {
        while index < bytes.count {
            let byte = bytes[index]
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return }
            index += 1
        }
    }

    private mutating func scalar(_ first: UInt8) throws -> Value.Kind {
        switch first {
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "n"): try literal("null")
        default:
            try number()
            return .number
        }
        return .literal
    }

    private mutating func literal(_ word: StaticString) throws {
        let matches = word.withUTF8Buffer { expected in
            bytes.count - index >= expected.count
                && bytes[index..<index + expected.count].elementsEqual(expected)
        }
        guard matches else { throw malformed("a value is expected") }
        index += word.utf8CodeUnitCount
    }

    private mutating func number() throws {
        _ = take(UInt8(ascii: "-"))
        if take(UInt8(ascii: "0")) {
            // a leading zero stands alone
        } else {
            guard digits() > 0 else { throw malformed("a value is expected") }
        }
        if take(UInt8(ascii: ".")) {
            guard digits() > 0 else { throw malformed("a digit is expected") }
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() > 0 else { throw malformed("a digit is expected") }
        }
    }

    private mutating func digits() -> Int {
        let start = index
        while index < bytes.count, bytes[index] >= 0x30, bytes[index] <= 0x39 { index += 1 }
        return index - start
    }

    /// Skips an object or an array.
    ///
    /// `open` is a stack of bits (1: object), so depth costs no memory and no recursion.
    private mutating func container() throws {
        var open: UInt64 = 0
        var depth = 0
        repeat {
            skipSpace()
            guard let byte = peek() else { throw malformed("the text ends too early") }
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
                guard depth < WireLimits.nestingDepth else {
                    throw malformed("nesting is deeper than \(WireLimits.nestingDepth)")
                }
                index += 1
                depth += 1
                open = open << 1 | (byte == UInt8(ascii: "{") ? 1 : 0)
                skipSpace()
                if !closes(open) {
                    if open & 1 == 1 { try memberKey() }
                    continue
                }
                index += 1
                open >>= 1
                depth -= 1
            } else if byte == UInt8(ascii: "\"") {
                _ = try string()
            } else {
                _ = try scalar(byte)
            }
            try afterValue(&open, &depth)
        } while depth > 0
    }

    /// Behind a value: closes containers that end here, or goes on to the next member.
    private mutating func afterValue(_ open: inout UInt64, _ depth: inout Int) throws {
        while depth > 0 {
            skipSpace()
            if take(UInt8(ascii: ",")) {
                if open & 1 == 1 {
                    skipSpace()
                    try memberKey()
                }
                return
            }
            guard closes(open) else { throw malformed("a comma or a bracket is expected") }
            index += 1
            open >>= 1
            depth -= 1
        }
    }

    private func closes(_ open: UInt64) -> Bool {
        peek() == (open & 1 == 1 ? UInt8(ascii: "}") : UInt8(ascii: "]"))
    }

    private mutating func memberKey() throws {
        guard peek() == UInt8(ascii: "\"") else { throw malformed("a key is expected") }
        _ = try string()
        skipSpace()
        guard take(UInt8(ascii: ":")) else { throw malformed("a colon is expected") }
    }
}

extension JSONScanner {
    /// Skips a string that begins at `index` and checks it: escapes, control characters, UTF-8.
    ///
    /// - Returns: whether it holds escapes.
    private mutating func string() throws -> Bool {
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
