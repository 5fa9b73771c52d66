package import RepriseCore

/// Writes the fields of what the cluster's journal holds.
///
/// Integers are big-endian, bytes and texts stand behind their length, an optional behind 0 or 1.
/// There is one way to write a value, so equal values have equal digests.
package struct BinaryWriter: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func write(_ value: UInt8) { bytes.append(value) }

    package mutating func write(_ value: Bool) { bytes.append(value ? 1 : 0) }

    package mutating func write(_ value: Int64) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func write(_ value: [UInt8]) {
        withUnsafeBytes(of: UInt32(value.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: value)
    }

    package mutating func write(_ text: String) { write(Array(text.utf8)) }

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
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) { rest = bytes[...] }

    package mutating func byte() throws(RepriseError) -> UInt8 {
        guard let byte = rest.popFirst() else { throw Self.cutOff }
        return byte
    }

    package mutating func bool() throws(RepriseError) -> Bool {
        switch try byte() {
        case 0: return false
        case 1: return true
        case let other: throw RepriseError(.malformed, "\(other) is neither true nor false.")
        }
    }

    package mutating func integer() throws(RepriseError) -> Int64 {
        Int64(bitPattern: try raw(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// Reads bytes behind their length.
    package mutating func bytes() throws(RepriseError) -> [UInt8] {
        let count = try raw(4).reduce(0) { $0 << 8 | Int($1) }
        return try raw(count)
    }

    package mutating func text() throws(RepriseError) -> String {
        guard let text = String(validating: try bytes(), as: UTF8.self) else {
            throw RepriseError(.malformed, "A text is not UTF-8.")
        }
        return text
    }

    package mutating func time() throws(RepriseError) -> WallTime {
        WallTime(milliseconds: try integer())
    }

    /// Reads so many bytes without a length.
    package mutating func raw(_ count: Int) throws(RepriseError) -> [UInt8] {
        guard rest.count >= count else { throw Self.cutOff }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
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
        guard rest.isEmpty else {
            throw RepriseError(.malformed, "\(rest.count) bytes follow the last field.")
        }
    }

    private static let cutOff = RepriseError(.malformed, "It ends within a field.")
}
