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
    var index: Int

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
        guard value.kind == .string else { throw malformed("a string is expected") }
        guard value.hasEscapes else { return String(decoding: inside(value), as: UTF8.self) }
        return String(decoding: unescaped(value), as: UTF8.self)
    }

    /// A number value that is a whole number within Int64, without fraction and exponent.
    package func integer(_ value: Value) throws -> Int64 {
        guard value.kind == .number else { throw malformed("a whole number is expected") }
        var result: Int64 = 0
        var digits = raw(value)[...]
        let negative = digits.first == UInt8(ascii: "-")
        if negative { digits = digits.dropFirst() }
        for byte in digits {
            guard byte >= 0x30, byte <= 0x39 else { throw malformed("a whole number is expected") }
            let (scaled, over) = result.multipliedReportingOverflow(by: 10)
            let (sum, beyond) = scaled.subtractingReportingOverflow(Int64(byte - 0x30))
            guard !over, !beyond else { throw malformed("a number is out of range") }
            result = sum
        }
        if negative { return result }
        guard result != .min else { throw malformed("a number is out of range") }
        return -result
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
