import RepriseCore

/// The position of a download: all that its next attempt needs.
struct DownloadPosition: Codable, Hashable, Sendable {
    /// Names this version of the content byte for byte, for `If-Range`: a strong `ETag`, or a
    /// `Last-Modified` that is older than the answer.
    var validator: String
    /// How many bytes are on the disk.
    var bytes: Int64
    /// The total size, if the server has sent it.
    var total: Int64?
}

/// The meaning of a response to a download's request.
enum DownloadAnswer: Hashable, Sendable {
    /// The content from this position on.
    case goesOn(total: Int64?)
    /// The content from its first byte.
    case begins(validator: String?, total: Int64?)
    /// The server cannot resume: request everything.
    case beginAnew(String)

    /// Interprets the head of a response to a request from a position; without a position, for
    /// everything.
    static func reading(_ head: HTTPHead, from position: DownloadPosition?) throws -> Self {
        guard let position else {
            guard head.status != 206 else {
                throw malformed("sent a part of what was asked for as a whole")
            }
            try StatusPolicy.check(head)
            guard head.status == 200 else {
                throw DispatchFailure.permanent(
                    "refused: The server answered \(head.status), and nothing to keep.")
            }
            return .begins(validator: validator(of: head), total: try length(of: head))
        }
        switch head.status {
        case 206: return goingOn(head, from: position)
        case 416: return .beginAnew("the server has no such range")
        default: return try reading(head, from: nil)
        }
    }

    private static func goingOn(_ head: HTTPHead, from position: DownloadPosition) -> Self {
        guard let range = ContentRange(head.headers["content-range"] ?? "") else {
            return .beginAnew("the server does not say which range it sends")
        }
        guard range.first == position.bytes else {
            return .beginAnew("the server sends from \(range.first), not from \(position.bytes)")
        }
        if let total = range.total {
            guard range.last == total - 1 else {
                return .beginAnew("the server sends less than the rest")
            }
            if let known = position.total, known != total {
                return .beginAnew("the content has \(total) bytes now, and had \(known)")
            }
        }
        if let text = head.headers["content-length"], Int64(text) != range.last - range.first + 1 {
            return .beginAnew("the length and the range of the answer differ")
        }
        if let tag = head.headers["etag"], position.validator.hasPrefix("\""),
            tag != position.validator
        {
            return .beginAnew("the server sends a range of another version")
        }
        if let date = head.headers["last-modified"], !position.validator.hasPrefix("\""),
            date != position.validator
        {
            return .beginAnew("the server sends a range of another version")
        }
        return .goesOn(total: range.total ?? position.total ?? range.last + 1)
    }

    private static func length(of head: HTTPHead) throws -> Int64? {
        guard let text = head.headers["content-length"] else { return nil }
        guard let length = Int64(text), length >= 0 else {
            throw malformed("announced \(text.prefix(40)) bytes")
        }
        return length
    }

    /// A strong validator of the content, if the response has one (RFC 9110 §8.8, §13.1.5).
    static func validator(of head: HTTPHead) -> String? {
        if let tag = head.headers["etag"] {
            let isStrong = tag.count >= 2 && tag.first == "\"" && tag.last == "\""
            // A weak tag may stand for two contents, and then so may the date beside it.
            return isStrong && tag.utf8.count <= 1_024 ? tag : nil
        }
        guard let text = head.headers["last-modified"], let modified = HTTPDate.read(text),
            let date = head.headers["date"].flatMap(HTTPDate.read),
            modified.duration(to: date) >= .seconds(1)
        else { return nil }
        return text
    }

    private static func malformed(_ what: String) -> RepriseError {
        RepriseError(
            .malformed, "The server \(what).",
            remedy: "Try again; if it stays so, look at the server.")
    }
}

/// `bytes 0-99/1000` (RFC 9110 §14.4).
struct ContentRange: Hashable, Sendable {
    let first: Int64
    let last: Int64
    let total: Int64?

    init?(_ text: String) {
        guard text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]),
            first <= last, last < .max
        else { return nil }
        total = Self.number(parts[1])
        guard total.map({ last < $0 }) ?? (parts[1] == "*") else { return nil }
        (self.first, self.last) = (first, last)
    }

    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
}
