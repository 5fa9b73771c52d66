import NIOCore
import NIOHTTP1

/// The head of an HTTP response (RFC 9112 §4, §5), read as strictly as a handshake needs.
struct HandshakeResponse {
    /// Not HTTP, or its end is not within `HandshakeResponse/maximumBytes`.
    struct Malformed: Error {}

    /// More than any server's answer to an upgrade.
    static let maximumBytes = 16_384

    let status: Int
    let fields: HTTPHeaders

    /// Takes the head, once all of it has arrived; the bytes behind it stay in the buffer.
    ///
    /// It is nil if more bytes are needed.
    ///
    /// - Parameters:
    ///   - buffer: all bytes so far.
    ///   - searched: how many of them were already searched, so that a head in many pieces is not
    ///     searched again each time.
    /// - Throws: ``Malformed``.
    init?(readingFrom buffer: inout ByteBuffer, searched: inout Int) throws {
        let bytes = buffer.readableBytesView.prefix(Self.maximumBytes)
        // The four bytes of the end may have begun in the searched part.
        let unsearched = bytes[(bytes.startIndex + max(0, searched - 3))...]
        searched = bytes.count
        guard zip(bytes, "HTTP/1.".utf8).allSatisfy(==) else { throw Malformed() }
        guard let end = unsearched.firstRange(of: "\r\n\r\n".utf8) else {
            guard bytes.count < Self.maximumBytes else { throw Malformed() }
            return nil
        }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        buffer.moveReaderIndex(to: end.upperBound)
        var lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        let words = lines.removeFirst().split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[1].utf8.count == 3, let status = UInt16(words[1]) else {
            throw Malformed()
        }
        self.status = Int(status)
        fields = HTTPHeaders(try lines.map(Self.field))
    }

    private static func field(_ line: Substring) throws -> (String, String) {
        guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
            throw Malformed()
        }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        let end = value.lastIndex { $0 != " " && $0 != "\t" }
        return (String(line[..<colon]), end.map { String(value[...$0]) } ?? "")
    }
}
