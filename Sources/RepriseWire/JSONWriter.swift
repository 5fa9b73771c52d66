/// Appends JSON text to a buffer.
///
/// It writes only the forms that frames need, and its output needs no check.
package struct JSONWriter {
    package private(set) var bytes: [UInt8]
    private var needsComma = false

    package init(reserving capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        nested(UInt8(ascii: "{"), UInt8(ascii: "}"), body)
    }

    package mutating func array(_ body: (inout JSONWriter) -> Void) {
        nested(UInt8(ascii: "["), UInt8(ascii: "]"), body)
    }

    /// An ASCII key without characters to escape.
    package mutating func key(_ key: StaticString) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        key.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A key without characters to escape: a channel's name.
    package mutating func key(plain key: String) {
        plain(key)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Any key.
    package mutating func key(text key: String) {
        string(key)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// A member of an object, where there is a value.
    package mutating func member<Value>(
        _ name: StaticString, _ value: Value?, _ write: (inout JSONWriter, Value) -> Void
    ) {
        guard let value else { return }
        key(name)
        write(&self, value)
    }

    /// A string without characters to escape: a name, an id, an epoch.
    package mutating func plain(_ text: String) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Any string.
    package mutating func string(_ text: String) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0x0a: bytes.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "n")])
            case 0..<0x20: control(byte)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    package mutating func integer(_ value: Int64) {
        comma()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        let start = bytes.count
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    package mutating func bool(_ value: Bool) { raw(Array((value ? "true" : "false").utf8)) }

    package mutating func null() { raw(Array("null".utf8)) }

    /// Existing JSON text.
    package mutating func raw(_ json: [UInt8]) {
        comma()
        bytes.append(contentsOf: json)
    }

    private mutating func control(_ byte: UInt8) {
        let digits = Array("0123456789abcdef".utf8)
        bytes.append(contentsOf: Array("\\u00".utf8))
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 0xf)])
    }

    private mutating func nested(
        _ open: UInt8, _ close: UInt8, _ body: (inout JSONWriter) -> Void
    ) {
        comma()
        bytes.append(open)
        needsComma = false
        body(&self)
        bytes.append(close)
        needsComma = true
    }

    private mutating func comma() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}
