import RepriseCore
import RepriseWire

/// The members of a JSON object, each with its original bytes.
///
/// A message's body stays unchanged: it is not parsed into numbers and written again.
package struct HTTPMembers: Sendable {
    private struct Member {
        let kind: JSONScanner.Value.Kind
        let raw: [UInt8]
        let text: String?
    }

    private let members: [String: Member]
    private let bytes: [UInt8]

    /// All of it on one line.
    package var line: String { String(decoding: Self.line(bytes).dropLast(), as: UTF8.self) }

    /// - Throws: ``RepriseError`` `.malformed`.
    package init(_ bytes: [UInt8]) throws {
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

    package func text(_ key: String) -> String? { members[key]?.text }

    /// Nil also for a number beyond those that a server sends: sums of these do not overflow.
    package func integer(_ key: String) -> Int64? {
        let most = WireLimits.greatestSequence
        guard let member = members[key], member.kind == .number,
            let number = Int64(String(decoding: member.raw, as: UTF8.self)),
            (-most...most).contains(number)
        else { return nil }
        return number
    }

    package func bool(_ key: String) -> Bool {
        members[key].map { $0.raw == Array("true".utf8) } ?? false
    }

    package func raw(_ key: String) -> [UInt8]? { members[key]?.raw }

    /// The elements of a list; none if there is no such list.
    package func list(_ key: String) throws -> [[UInt8]] {
        guard let member = members[key], member.kind == .array else { return [] }
        return try member.raw.withUnsafeBufferPointer { buffer in
            var scanner = JSONScanner(buffer)
            let reader = scanner
            var elements: [[UInt8]] = []
            try scanner.array { elements.append(Array(reader.raw($0))) }
            return elements
        }
    }

    /// As one line: white space between tokens may hold line breaks, within strings they are
    /// escaped.
    package static func line(_ json: [UInt8]) -> [UInt8] {
        json.map { $0 == 0x0a || $0 == 0x0d ? 0x20 : $0 } + [UInt8(ascii: "\n")]
    }
}
