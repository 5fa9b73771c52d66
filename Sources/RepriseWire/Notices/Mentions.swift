import Foundation
import RepriseCore

/// The users whom a message mentions: `notice.mentions` of its body, an array of their names.
///
/// ```
/// {"text":"@ben look","notice":{"mentions":["ben"]}}
/// ```
///
/// A mention of a user who is no member of the channel, and what is no user's name, mean nothing.
package struct Mentions: Hashable, Sendable {
    /// The most users whom a message mentions; later names of the array mean nothing.
    package static let limit = 50

    package private(set) var users: [UserID] = []

    /// - Parameter body: JSON, as stored; one without mentions is not parsed.
    package init(in body: [UInt8]) {
        guard Self.mayMention(body) else { return }
        users =
            (try? body.withUnsafeBufferPointer { bytes -> [UserID] in
                let object = try Envelope(bytes, fieldLimit: 256)
                guard let notice = object.optional("notice"), notice.kind == .object else {
                    return []
                }
                return try Self.users(Envelope(UnsafeBufferPointer(rebasing: bytes[notice.range])))
            }) ?? []
    }

    /// Whether a user is mentioned; nobody is where no user is known.
    package func contains(_ user: UserID?) -> Bool { user.map(users.contains) ?? false }

    private static func users(_ notice: Envelope) throws -> [UserID] {
        guard let list = notice.optional("mentions"), list.kind == .array else { return [] }
        var users: [UserID] = []
        var (scanner, count) = (notice.scanner.at(list), 0)
        try scanner.array { value in
            count += 1
            guard count <= limit, value.kind == .string,
                let user = try? UserID(notice.scanner.string(value)), !users.contains(user)
            else { return }
            users.append(user)
        }
        return users
    }

    /// Whether the body has the key, written without escapes: quick, since most bodies have not.
    private static func mayMention(_ body: [UInt8]) -> Bool {
        body.withUnsafeBytes { bytes in
            guard var start = bytes.baseAddress else { return false }
            let end = start + bytes.count
            while let quote = memchr(start, Int32(key[0]), end - start) {
                guard end - UnsafeRawPointer(quote) >= key.count else { return false }
                if memcmp(quote, key, key.count) == 0 { return true }
                start = UnsafeRawPointer(quote) + 1
            }
            return false
        }
    }

    private static let key = Array(#""mentions""#.utf8)

    /// A body with mentions.
    ///
    /// - Parameters:
    ///   - users: at most ``limit``; none changes nothing.
    ///   - body: a JSON object without mentions.
    /// - Returns: the object with `notice.mentions`; its other bytes stay.
    /// - Throws: ``RepriseCore/RepriseError`` `.malformed` for another body, `.tooLarge` for more
    ///   users.
    package static func add(_ users: [UserID], to body: [UInt8]) throws -> [UInt8] {
        guard !users.isEmpty else { return body }
        guard users.count <= limit else {
            throw RepriseError(.tooLarge, "A message mentions at most \(limit) users.")
        }
        var list = JSONWriter()
        list.array { list in for user in users { list.plain(user.text) } }
        let mentions = Array(#""mentions":"#.utf8) + list.bytes
        var (start, member) = (0, mentions)
        try body.withUnsafeBufferPointer { bytes in
            let object: Envelope
            do { object = try Envelope(bytes, fieldLimit: 256) } catch { throw notAnObject }
            guard (try? object.value("notice")) != nil else {
                start = bytes.firstIndex(of: UInt8(ascii: "{")) ?? 0
                member = Array(#""notice":{"#.utf8) + mentions + [UInt8(ascii: "}")]
                return
            }
            guard let notice = object.optional("notice"), notice.kind == .object else {
                throw notAnObject
            }
            let inner = try Envelope(UnsafeBufferPointer(rebasing: bytes[notice.range]))
            guard (try? inner.value("mentions")) == nil else { throw notAnObject }
            start = notice.range.lowerBound
        }
        let rest = body[(start + 1)...]
        let next = rest.first { ![0x20, 0x09, 0x0a, 0x0d].contains($0) }
        if next != UInt8(ascii: "}") { member.append(UInt8(ascii: ",")) }
        return Array(body[...start]) + member + Array(rest)
    }

    private static let notAnObject = RepriseError(
        .malformed, "Mentions are added to a JSON object that has none.",
        remedy: "Give the body a member `notice` that is an object, or none.")
}
