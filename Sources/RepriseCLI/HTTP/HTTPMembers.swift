import RepriseCore
import RepriseWire

/// The members of a JSON object, each with its original bytes.
///
/// A message's body stays unchanged: it is not parsed into numbers and written again.
struct HTTPMembers: Sendable {
    private struct Member {
        let kind: JSONScanner.Value.Kind
        let raw: [UInt8]
        let text: String?
    }

    private let members: [String: Member]
    private let bytes: [UInt8]

    /// All of it on one line.
    var line: String { String(decoding: Listing.line(bytes).dropLast(), as: UTF8.self) }

    /// - Throws: ``RepriseError`` `.malformed`.
    init(_ bytes: [UInt8]) throws {
        self.bytes = bytes
        members = try bytes.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            let reader = scanner
            var members: [String: Member] = [:]
            try scanner.object { key, value in
                members[try reader.string(key)] = Member(
                    kind: value.kind, raw: Array(reader.raw(value)),
                    text: value.kind == .string ? try reader.string(value) : nil)
            }
            return members
        }
    }

    func text(_ key: String) -> String? { members[key]?.text }

    func integer(_ key: String) -> Int64? {
        guard let member = members[key], member.kind == .number else { return nil }
        return Int64(String(decoding: member.raw, as: UTF8.self))
    }

    func bool(_ key: String) -> Bool { members[key].map { $0.raw == Array("true".utf8) } ?? false }

    func raw(_ key: String) -> [UInt8]? { members[key]?.raw }

    /// The elements of a list; none if there is no such list.
    func list(_ key: String) throws -> [[UInt8]] {
        guard let member = members[key], member.kind == .array else { return [] }
        return try member.raw.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            let reader = scanner
            var elements: [[UInt8]] = []
            try scanner.array { elements.append(Array(reader.raw($0))) }
            return elements
        }
    }
}
