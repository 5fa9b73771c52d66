import Foundation
import RepriseCore

/// JSON from a file that others write.
package enum ForeignJSON {
    /// Deeper than any record or mirror, and far below Foundation's limit.
    static let nestingDepth = 64

    /// Decodes after a check that the nesting is shallow.
    ///
    /// Foundation's decoder refuses arrays and objects nested more than 512 deep, but with a line
    /// break before them it traps while it computes the column for its error (Swift 6.3). One such
    /// file would end the app at every start.
    ///
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed`, and the decoder's errors.
    package static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws
        -> Value
    {
        guard isShallow(bytes, most: nestingDepth) else {
            throw RepriseError(
                .malformed, "It is nested deeper than \(nestingDepth), or not UTF-8.")
        }
        return try JSONDecoder().decode(type, from: Data(bytes))
    }

    /// - Throws: the encoder's errors.
    package static func encode(_ value: some Encodable) throws -> [UInt8] {
        [UInt8](try JSONEncoder().encode(value))
    }

    /// Counts brackets outside strings; the decoder checks whether they match.
    package static func isShallow(_ bytes: [UInt8], most levels: Int) -> Bool {
        var depth = 0
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            switch byte {
            case 0: return false  // UTF-16 or UTF-32, whose bytes are no brackets and quotes
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isInString: isEscaped = true
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "[") where !isInString, UInt8(ascii: "{") where !isInString:
                depth += 1
                guard depth <= levels else { return false }
            case UInt8(ascii: "]") where !isInString, UInt8(ascii: "}") where !isInString:
                depth -= 1
            default: break
            }
        }
        return true
    }
}
