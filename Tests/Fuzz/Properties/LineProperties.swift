import NIOCore

@testable import RepriseServer

/// Bodies cut into lines.
///
/// The first byte says where the pieces end, the second what the limit is.
enum LineProperties {
    static func check(_ bytes: [UInt8]) throws {
        guard bytes.count >= 2 else { return }
        let limit = Int(bytes[1])
        var reader = BodyLineReader(limit: limit)
        var found: [BodyLineReader.Line] = []
        for piece in pieces(of: bytes[2...], seed: bytes[0]) {
            reader.take(ByteBuffer(bytes: piece)) { found.append($0) }
        }
        reader.finish { found.append($0) }
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0d]
        let expected = bytes[2...].split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
        ).compactMap { line -> BodyLineReader.Line? in
            if line.count > limit { return .tooLong }
            return line.allSatisfy(blanks.contains) ? nil : .text(Array(line))
        }
        try hold(found == expected, "\(found.count) lines, not \(expected.count)")
    }
}
