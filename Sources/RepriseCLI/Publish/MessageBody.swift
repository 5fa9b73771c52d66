import RepriseCommandLine
import RepriseCore
import RepriseWire

/// Makes message bodies of lines.
enum MessageBody {
    /// A line of text becomes a JSON string.
    ///
    /// - Parameters:
    ///   - text: UTF-8.
    ///   - place: its name in an error, such as `Line 7`.
    /// - Returns: JSON, within the limit.
    /// - Throws: ``CommandFailure`` `.badInput`.
    static func text(_ text: [UInt8], place: String) throws -> [UInt8] {
        guard let string = String(validating: text, as: UTF8.self) else {
            throw CommandFailure(
                .badInput,
                "\(place) is not UTF-8. Convert the input, for instance with iconv -t UTF-8.")
        }
        var writer = JSONWriter(reserving: text.count + 16)
        writer.string(string)
        return try checked(writer.bytes, place)
    }

    /// Checks a line of JSON and keeps its bytes.
    ///
    /// - Parameters:
    ///   - json: one JSON value.
    ///   - place: its name in an error.
    /// - Returns: JSON, within the limit.
    /// - Throws: ``CommandFailure`` `.badInput`.
    static func json(_ json: [UInt8], place: String) throws -> [UInt8] {
        do {
            try JSONScanner.validate(json)
            // Once more as the frame has it: one level deeper.
            try JSONScanner.validate([UInt8(ascii: "[")] + json + [UInt8(ascii: "]")])
        } catch let error as RepriseError {
            throw CommandFailure(.badInput, "\(place) is not JSON: \(error.message)")
        }
        return try checked(json, place)
    }

    private static func checked(_ body: [UInt8], _ place: String) throws -> [UInt8] {
        guard body.count <= WireLimits.bodyBytes else {
            throw CommandFailure(
                .badInput,
                "\(place) has \(body.count.grouped) bytes as JSON; the limit is "
                    + "\(WireLimits.bodyBytes.grouped). Split it, or send a link to it.")
        }
        return body
    }
}
