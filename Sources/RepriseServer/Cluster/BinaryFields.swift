package import RepriseCore

/// Writes the fields of what the cluster's journal holds.
///
/// Integers are big-endian, bytes and texts stand behind their length, an optional behind 0 or 1.
/// There is one way to write a value, so equal values have equal digests.
package struct BinaryWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    /// `count` bytes are expected.
    package init(expecting count: Int = 0) { bytes.reserveCapacity(count) }

    package mutating func write(_ value: UInt8) { bytes.append(value) }

    package mutating func write(_ value: Bool) { bytes.append(value ? 1 : 0) }

    package mutating func write(_ value: Int64) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func write(_ value: [UInt8]) {
        withUnsafeBytes(of: UInt32(value.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: value)
    }

    package mutating func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            withUnsafeBytes(of: UInt32(utf8.count).bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: utf8)
        }
    }

    package mutating func write(_ time: WallTime) { write(time.milliseconds) }

    /// Writes bytes of a known number, without their length.
    package mutating func writeRaw(_ value: [UInt8]) { bytes.append(contentsOf: value) }

    package mutating func write<Value>(
        _ value: Value?, _ body: (inout BinaryWriter, Value) -> Void
    ) {
        write(value != nil)
        if let value { body(&self, value) }
    }
}

/// Reads what ``BinaryWriter`` wrote, and nothing else: a value that could be written otherwise is
/// refused.
package struct BinaryReader: Sendable {
    private let all: [UInt8]
    private var read = 0

    package init(_ bytes: [UInt8]) { all = bytes }

    /// Passes so many bytes, and returns where they are.
    private mutating func pass(_ count: Int) throws(RepriseError) -> Range<Int> {
        guard all.count - read >= count else { throw Self.cutOff }
        defer { read += count }
        return read..<(read + count)
    }

    /// Reads a number of so many bytes.
    private mutating func number(_ count: Int) throws(RepriseError) -> UInt64 {
        var number: UInt64 = 0
        for place in try pass(count) { number = number << 8 | UInt64(all[place]) }
        return number
    }

    package mutating func byte() throws(RepriseError) -> UInt8 { UInt8(try number(1)) }

    package mutating func bool() throws(RepriseError) -> Bool {
        switch try byte() {
        case 0: return false
        case 1: return true
        case let other: throw RepriseError(.malformed, "\(other) is neither true nor false.")
        }
    }

    package mutating func integer() throws(RepriseError) -> Int64 {
        Int64(bitPattern: try number(8))
    }

    /// Reads bytes behind their length.
    package mutating func bytes() throws(RepriseError) -> [UInt8] {
        try raw(Int(try number(4)))
    }

    package mutating func text() throws(RepriseError) -> String {
        let place = try pass(Int(try number(4)))
        guard let text = String(validating: all[place], as: UTF8.self) else {
            throw RepriseError(.malformed, "A text is not UTF-8.")
        }
        return text
    }

    package mutating func time() throws(RepriseError) -> WallTime {
        WallTime(milliseconds: try integer())
    }

    /// Reads so many bytes without a length.
    package mutating func raw(_ count: Int) throws(RepriseError) -> [UInt8] {
        Array(all[try pass(count)])
    }

    package mutating func optional<Value>(
        _ body: (inout BinaryReader) throws -> Value
    ) throws -> Value? {
        try bool() ? try body(&self) : nil
    }

    /// Reads values behind their number; each takes bytes, so a great number ends with them.
    package mutating func list<Value>(
        _ body: (inout BinaryReader) throws -> Value
    ) throws -> [Value] {
        let count = try integer()
        guard count >= 0 else { throw RepriseError(.malformed, "\(count) values are none.") }
        var values: [Value] = []
        while values.count < count { values.append(try body(&self)) }
        return values
    }

    package func expectEnd() throws(RepriseError) {
        guard read == all.count else {
            throw RepriseError(.malformed, "\(all.count - read) bytes follow the last field.")
        }
    }

    private static let cutOff = RepriseError(.malformed, "It ends within a field.")
}
